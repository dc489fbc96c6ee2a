"""A picture on a page about heads: the open head over it, and the picture as the strip of its own tokens."""
from collections.abc import Callable

import numpy as np

from model.core.record import AttentionRecord
from model.core.view import View
from viz import glow
from viz.components.component import Picture
from viz.components.head_view import Below
from viz.components.picture_view import PatchEvent, PatchState, PatchValues, picture_view
from viz.components.picture_view.rows import hidden_tokens, patches_of, row_of
from viz.text import strings
from viz.widgets.pictures.choice import picture_name

HIGH = 150   # pixels of the picture as a strip


def open_picture(record: AttentionRecord, view: View, *, key: str, height: int | Below, look: str = "blocky",
                 opacity: float = glow.OPACITY, on_event: Callable[[PatchEvent], None] | None = None) -> Picture:
    """Draws what the token in focus looks at in the open head, over the picture."""
    patches = patches_of(record, view.kind, picture_name(record.query.image))
    shown = PatchState(view.token, look, opacity, hidden_tokens(record))
    return picture_view(patches, row_of(record, view), shown, height=height, key=key, view=view, on_event=on_event)


def patch_strip(record: AttentionRecord, view: View, *, key: str, says: str = "",
                on_event: Callable[[PatchEvent], None] | None = None) -> Picture:
    """Draws the picture with the token in focus, small: the place where one chooses it, as in a strip of tokens.
    says: what one does there, in other words."""
    patches, words = patches_of(record, view.kind, picture_name(record.query.image)), strings("components")["picture"]
    nothing = PatchValues(np.full(len(patches.texts), np.nan, np.float32), patches.label, kind="none")
    return picture_view(patches, nothing, PatchState(view.token, opacity=0.0, hidden=hidden_tokens(record),
                                                     says=says or words["choose"]),
                        height=HIGH, key=key, on_event=on_event)
