"""Compute what the lesson pages show: pure functions from numpy arrays to numpy arrays; torch is imported inside those
that use equation (1)."""
