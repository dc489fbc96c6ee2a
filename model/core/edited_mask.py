"""Who may look where once a question's edits are made: the same for every source of models."""
from collections.abc import Iterable

from model.core.masks import Hidden, Mask, Narrowed
from model.core.query import Edit, Hide, Kind, UserError, Window


def edited_mask(base: Mask, edits: Iterable[Edit], kind: Kind, side: str) -> Mask:
    """The mask of an attention of one kind whose keys are the tokens of `side`; `base` itself where no edit changes
    it."""
    edits = list(edits)
    allowed = base
    for edit in edits:
        if isinstance(edit, Window) and kind is Kind.CAUSAL:
            allowed = Narrowed(base, edit.width, edit.first)
    hidden = tuple(sorted(edit.token for edit in edits if isinstance(edit, Hide) and edit.side == side))
    return Hidden(allowed, hidden) if hidden else allowed


def no_last_keys(title: str) -> UserError:
    """Why a model without a decoder takes no `Window`."""
    return UserError(f"{title} has no attention that only looks back, so its tokens have no last keys; choose a "
                     f"decoder, such as SmolLM2.")
