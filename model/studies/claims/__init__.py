"""What has been said about attention heads, measured here again: claims, measurements, and one rule for verdicts."""
