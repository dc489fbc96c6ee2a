"""The from-scratch models by name. Light: no torch here, because every page lists them."""
NAMES = ("scratch",)
