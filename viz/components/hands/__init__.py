"""A show of hands: the teacher taps in how many people chose each answer. Counts stay in the browser tab until they are
cleared or the tab is closed."""
from viz.components.component import registered
from viz.text import strings


def hands(question: str, place: int, answers: int, *, key: str, told: bool, right: bool = False) -> None:
    """Draw the count for the answer at index `place`, with buttons to add and subtract one, or a bar once the answers
    are revealed. question: the name under which the tab stores its counts. The key starts with "hands-", which
    identifies it in lecture mode. right: use the accent colour."""
    _draw(key, {"question": question, "place": place, "answers": answers, "told": told, "right": right})


def clear_hands(question: str, *, key: str) -> None:
    """Draw the button that clears a question's counts."""
    _draw(key, {"question": question})


def _draw(key: str, data: dict[str, object]) -> None:
    words = strings("lecture")["hands"]
    registered("hands", "hands/hands.js", "module.hands()", None)(key=key, data=[data | {"text": words}])
