"""Why attention divides by √d_k: random rows, trained heads, and small models trained with it and without."""
