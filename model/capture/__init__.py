"""Capture attention from a running model, edit it during the pass, and verify it."""
