"""What server.py has beside the app: limits that are in force, doors that are closed, a log that cannot be flooded."""
