"""Clearhead in the browser: a page with a model in it, as a folder of static files or as one HTML file."""
