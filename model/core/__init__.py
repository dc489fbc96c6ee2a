"""Questions, records and the computations on them. Imports nothing else from this project."""
