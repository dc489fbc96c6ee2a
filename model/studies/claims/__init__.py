"""Replications of published claims about attention heads: the claims, their measurements, and one rule for verdicts."""
