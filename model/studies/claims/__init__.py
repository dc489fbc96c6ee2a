"""Published claims about attention heads, measured again: claims, measurements, and one rule for verdicts."""
