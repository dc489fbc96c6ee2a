"""Records as files: for numpy, and whole, to be drawn again."""
