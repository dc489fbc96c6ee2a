"""What server.py adds to the app: enforced limits, closed endpoints, and a log that cannot be flooded."""
