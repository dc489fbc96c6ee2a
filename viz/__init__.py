"""Shows: records and views become pictures, pages and files. Never imports torch."""
