"""The displaying half: turns records and views into pictures, pages and files. Never imports torch."""
