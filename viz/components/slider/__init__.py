"""A slider over a few options. Unlike Streamlit's own, it sends values while dragging, so pictures follow."""
from collections.abc import Callable, Sequence
from typing import Any

from clearhead.viz.components.component import component_value, registered

FILM = "slider-step"   # key of a slider over steps, which the keys of a presentation move
LATEST = 2**53   # largest integer that JavaScript represents exactly


def message(label: str, words: Sequence[str], at: int, help: str | None, event: object) -> dict[str, object]:
    """Return the message to draw, with the thumb at index `at` of the words. event: the browser's last message, whose
    count is returned as an acknowledgement."""
    count = event.get("count") if isinstance(event, dict) else None
    heard = count if type(count) is int and 0 <= count <= LATEST else 0
    return {"label": label, "words": list(words), "at": at, "help": help or "", "heard": heard}


def parse_event(value: object, words: Sequence[str]) -> int | None:
    """Parse a browser event, {"at": index, "word": label, "count": message number}, and return the option's index; None
    for anything else.

    If the options have changed in the meantime, the label identifies the option.
    """
    if not isinstance(value, dict) or set(value) != {"at", "word", "count"}:
        return None
    at, word = value["at"], value["word"]
    if type(at) is not int or not isinstance(word, str):
        return None
    if 0 <= at < len(words) and words[at] == word:
        return at
    return words.index(word) if words.count(word) == 1 else None


def slider(label: str, options: Sequence[Any], value: object, *, key: str, turn: Callable[[Any], None],
           say: Callable[[Any], str] = str, help: str | None = None) -> None:
    """Draw the slider with the thumb at `value`, which must be one of the options. A move calls turn(option) before the
    page reruns; dragging or holding a key sends about twelve moves per second. Arrow keys, Page Up and Page Down, Home
    and End move the thumb. say: returns an option's label. The key must start with "slider-", and is FILM for
    the steps of a film."""
    words = [say(option) for option in options]

    def hand_on() -> None:
        at = parse_event(component_value(key, "moved"), words)
        if at is not None:
            turn(options[at])

    # in a list, because Streamlit would search a dict for tables and take half a second to import pandas
    data = [message(label, words, options.index(value), help, component_value(key, "moved")) | {"film": key == FILM}]
    registered("slider", "slider/slider.js", "module.slider()", None)(key=key, data=data, on_moved_change=hand_on)
