"""A show of hands: the teacher counts with the digit keys how many people chose each answer. The browser tab keeps the
counts until they are cleared or the tab is closed."""
from clearhead.viz.components.component import registered
from clearhead.viz.style.text import strings


def hands(question: str, *, key: str, **answer: object) -> None:
    """Draw the count for one answer, or the button that clears a question's counts.

    question: the name under which the tab stores them. answer: for a count, its index `place`, the number of `answers`,
    whether they are revealed (`told`), which draws a bar, and whether it is the `right` one, in the accent colour. The
    key must start with "hands-", which identifies the element while presenting.
    """
    data = {"question": question, "text": strings("present")["hands"]} | answer
    registered("hands", "hands/hands.js", "module.hands()", None)(key=key, data=[data])
