"""Protection for a public server, used by server.py: enforced limits, closed endpoints, and a bounded log."""
