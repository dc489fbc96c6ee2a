"""The Transformer of Vaswani et al. 2017, written from scratch, and what it learns."""
