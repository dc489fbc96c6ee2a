"""A show of hands: the teacher counts with the digit keys how many people chose each answer. The browser tab keeps the
counts until they are cleared or the tab is closed."""
from clearhead.viz.components.component import registered
from clearhead.viz.text import strings


def hands(question: str, place: int, answers: int, *, key: str, told: bool, right: bool = False) -> None:
    """Draw the count for the answer at index `place`. If `told`, the answers have been revealed, and a bar is drawn
    behind it. question: the name under which the tab stores its counts. right: use the
    accent colour. The key must start with "hands-", which identifies the element in lecture mode."""
    _draw(key, {"question": question, "place": place, "answers": answers, "told": told, "right": right})


def clear_hands(question: str, *, key: str) -> None:
    """Draw the button that clears a question's counts."""
    _draw(key, {"question": question})


def _draw(key: str, data: dict[str, object]) -> None:
    words = strings("lecture")["hands"]
    registered("hands", "hands/hands.js", "module.hands()", None)(key=key, data=[data | {"text": words}])
