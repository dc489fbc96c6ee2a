"""The commands of python -m model."""
