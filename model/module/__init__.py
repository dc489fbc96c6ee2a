"""An object in somebody's own program as a source of attention: a torch module, or a Hugging Face model from memory."""
