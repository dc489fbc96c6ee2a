"""The message of a slider and what it sends back, without Streamlit."""
from collections.abc import Sequence
from typing import Any

LATEST = 2**53   # numbers up to which JavaScript counts


def message(label: str, words: Sequence[str], at: int, help: str | None, event: Any) -> dict[str, Any]:
    """What is drawn: the thumb at the words' number `at`. event: what the browser said last, as it came; the browser
    learns that it was heard."""
    count = event.get("count") if isinstance(event, dict) else None
    heard = count if type(count) is int and 0 <= count <= LATEST else 0
    return {"label": label, "words": list(words), "at": at, "help": help or "", "heard": heard}


def parse_event(value: Any, words: Sequence[str]) -> int | None:
    """The number of the option in what a browser sent: {"at": its number, "word": its words, "count": of the message}.
    None for anything else.

    A thumb may have been moved over other options than these, which were on their way: then the words say which one was
    meant. """
    if not isinstance(value, dict) or set(value) != {"at", "word", "count"}:
        return None
    at, word = value["at"], value["word"]
    if type(at) is not int or not isinstance(word, str):
        return None
    if 0 <= at < len(words) and words[at] == word:
        return at
    return words.index(word) if words.count(word) == 1 else None
