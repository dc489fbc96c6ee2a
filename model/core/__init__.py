"""The question, the record and the arithmetic on it. Imports nothing else from this project."""
