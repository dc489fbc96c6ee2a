"""One of many in a row, by a thumb on a line. Streamlit's own slider says nothing while one drags; pictures move with
this one."""
from collections.abc import Callable, Sequence
from typing import Any

from viz.components.component import component_value, registered

LATEST = 2**53   # numbers up to which JavaScript counts


def message(label: str, words: Sequence[str], at: int, help: str | None, event: object) -> dict[str, object]:
    """Return what is drawn: the thumb at the words' number `at`. event: what the browser said last, as it came; the
    browser learns that it was heard."""
    count = event.get("count") if isinstance(event, dict) else None
    heard = count if type(count) is int and 0 <= count <= LATEST else 0
    return {"label": label, "words": list(words), "at": at, "help": help or "", "heard": heard}


def parse_event(value: object, words: Sequence[str]) -> int | None:
    """Return the number of the option in what a browser sent: {"at": its number, "word": its words, "count": of the
    message}. None for anything else.

    A thumb may have been moved over other options than these, which were on their way: then the words say which one was
    meant.
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
    """Draw the options with the thumb at `value`, which is one of them; say gives an option's words. A move calls
    turn(option) before the page runs again. While one drags or keeps a key pressed, a move is sent about twelve times a
    second. Arrow keys, Page Up and Page Down, Home and End move the thumb. The key begins with "slider-"."""
    words = [say(option) for option in options]

    def hand_on() -> None:
        at = parse_event(component_value(key, "moved"), words)
        if at is not None:
            turn(options[at])

    # in a list: a dict would be searched for tables by Streamlit, which imports pandas for that, half a second
    data = [message(label, words, options.index(value), help, component_value(key, "moved"))]
    registered("slider", "slider/slider.js", "module.slider()", None)(key=key, data=data, on_moved_change=hand_on)
