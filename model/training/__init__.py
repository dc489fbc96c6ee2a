"""Trainings started from a page, and the snapshots that they write."""
