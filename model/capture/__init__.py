"""Read attention out of a running model, edit it on the way, and verify it."""
