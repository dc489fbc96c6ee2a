"""How attention is read out of a running model, edited on the way, and checked."""
