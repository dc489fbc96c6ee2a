"""The Transformer of Vaswani et al. 2017, written from scratch, and the tasks that it learns."""
