"""Compute the numbers on the lesson pages, mostly with pure functions of numpy arrays. torch is only imported in
functions that need it."""
