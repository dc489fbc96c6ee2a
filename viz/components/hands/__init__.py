"""A show of hands: how many of a hall chose an answer, tapped in by whoever teaches. The counts stay in the browser's
tab, which alone needs them, until they are cleared or the tab is closed."""
from viz.components.component import registered
from viz.text import strings


def hands(question: str, place: int, answers: int, *, key: str, told: bool, right: bool = False) -> None:
    """Draw the count of one answer, the one at `place` of so many, with buttons for one more and one fewer; once the
    answer is told, a bar. question: under which name the tab keeps its counts. The key begins with "hands-", by which a
    presentation knows it. right: the bar has the accent colour."""
    _draw(key, {"question": question, "place": place, "answers": answers, "told": told, "right": right})


def clear_hands(question: str, *, key: str) -> None:
    """Draw the button that clears a question's counts."""
    _draw(key, {"question": question})


def _draw(key: str, data: dict[str, object]) -> None:
    words = strings("lecture")["hands"]
    registered("hands", "hands/hands.js", "module.hands()", None)(key=key, data=[data | {"text": words}])
