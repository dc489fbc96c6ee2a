"""Trainings that run beside a page, and the snapshots that they write."""
