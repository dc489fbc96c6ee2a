"""The names of the models of this folder. Light: no torch here, so that the first page can ask."""

NAMES = {"scratch": "from scratch, untrained"}
