"""An interactive two-dimensional head: queries and keys in one plane, values and output in another, weights below.
Works with pointer, touch and keyboard."""
from collections.abc import Callable, Mapping, Sequence

from clearhead.viz.app.page_controls import Numbers
from clearhead.viz.components.component import constants, show_here

VECTORS = ("q", "k", "v")


def parse_event(value: object, controls: Mapping[str, Numbers], tokens: int) -> dict[str, object] | None:
    """Parse a browser event: {"q": numbers, "k": numbers, "v": numbers} with two numbers per token, or {"looks":
    token position}. Return None for anything else."""
    if not isinstance(value, dict):
        return None
    if set(value) == {"looks"}:
        return dict(value) if type(value["looks"]) is int and 0 <= value["looks"] < tokens else None
    if set(value) != set(VECTORS):
        return None
    moved = {name: controls[name].clean(value[name]) for name in VECTORS if isinstance(value[name], list)}
    fits = [each is not None and len(each) == 2 * tokens for each in moved.values()]
    return dict(moved) if len(fits) == len(VECTORS) and all(fits) else None


def arrows(tokens: Sequence[str], controls: Mapping[str, Numbers], vectors: Mapping[str, tuple[float, ...]],
           looks: int, corners: Sequence[int], *, covered: bool, key: str,
           turn: Callable[[dict[str, object]], None]) -> None:
    """Draw the arrows. Before the page reruns, a move calls turn({"q": …, "k": …, "v": …}) and a click on a token's
    name calls turn({"looks": position}).

    controls: one for each name in VECTORS, with two numbers per token. looks: index of the query token. corners: the
    tokens whose values are the corners of their convex hull, in order. covered: hide the output and the hull while the
    page asks for a prediction.

    The arrow keys move a focused arrow. A drag sends about eight moves per second; the browser updates weights and
    output immediately.
    """
    body = constants("arrows", "lesson") | {"tokens": tokens, "low": controls["q"].low, "high": controls["q"].high}
    show_here("arrows", key, body, {**vectors, "looks": looks, "corners": corners, "covered": covered},
              lambda value: parse_event(value, controls, len(tokens)), turn)
