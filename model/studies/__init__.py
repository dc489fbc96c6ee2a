"""Studies of attention heads, one per file or folder: its query, its result and the computation. Only needs numpy,
except in functions that run a model."""
