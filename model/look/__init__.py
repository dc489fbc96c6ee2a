"""Capture attention from an object in the user's program: a torch module or a Hugging Face model."""
