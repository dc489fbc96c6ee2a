"""Pictures on pages: which one, and where in it one looks from."""
