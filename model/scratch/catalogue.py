"""The names of the models of this folder. Light: no torch here, so that the first page can ask."""

OFFERS = {   # name: (title, what it is good for)
    "scratch": ("From scratch, untrained",
                "The Transformer of the paper before it has seen a single text: what attention looks like when it means nothing yet."),
}
NAMES = {name: title for name, (title, _) in OFFERS.items()}
