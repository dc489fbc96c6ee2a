"""A picture with its patch grid: each patch is coloured by its weight, and a click selects a patch."""
from collections.abc import Callable

from clearhead.viz.components.component import Selection, parse_selection, show
from clearhead.viz.components.picture import IMAGE, Image


def picture_view(image: Image, *, height: int = IMAGE, key: str, frozen: bool = False,
                 on_event: Callable[[Selection], None] | None = None) -> None:
    """Draw the picture with a number per patch.

    height: maximum in pixels, or the rest of the window. frozen: disable selection. on_event: receives the chosen token
    before the page reruns.
    """
    every = range(len(image.patches.texts))
    show("picture_view", key, *image.messages(key, height, frozen=frozen), lambda value: parse_selection(value, every),
         on_event)
