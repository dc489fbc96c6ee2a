"""The user interface: turns records and views into pictures, pages and files. Never imports torch."""
