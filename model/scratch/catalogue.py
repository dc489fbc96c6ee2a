"""The from-scratch models by name. Light: no torch here, because every page lists them."""

OFFERS = {   # name: (title, what it is good for)
    "scratch": ("From scratch, untrained",
                "The Transformer of the paper as it is before it has seen a single text: what attention looks like when it means nothing yet."),
}
NAMES = tuple(OFFERS)
