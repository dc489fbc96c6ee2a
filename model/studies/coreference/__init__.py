"""The test of "it": cases, every head over them, and what the result is worth."""
