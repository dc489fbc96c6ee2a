"""The sentences of the Examples menu, and where their words are among a model's tokens."""
import functools
import re
from typing import Any

from clearhead.model.core.query import frozen
from clearhead.model.core.tokens import Tokens
from clearhead.viz.style.text import strings


@frozen
class Example:
    """An entry of the menu, read from examples.toml."""

    name: str                             # key in examples.toml
    title: str                            # label in the menu
    text: str                             # the sentence
    pair: tuple[str, str]                 # (from, to), two words of the texts
    text_b: str | None = None             # the second text
    twin: str | None = None               # the text with the words of `swap` exchanged
    swap: tuple[str, str] | None = None   # (the text's word, the twin's word)
    rival: str | None = None              # a word that competes with the pair's second one


@functools.cache
def examples() -> tuple[Example, ...]:
    """Return every example, in menu order."""
    return tuple(_example(entry) for entry in strings("examples")["example"])


def _example(entry: dict[str, Any]) -> Example:
    lists: dict[str, Any] = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return Example(**entry | lists)


def example_for(text: str, text_b: str | None) -> Example | None:
    """Return the example with this sentence, or with this sentence as its twin."""
    return next((example for example in examples()
                 if text in (example.text, example.twin) and (text_b or None) == example.text_b),
                None)


def other_twin(example: Example, text: str) -> str | None:
    """Return the twin of an example's sentence, in either direction."""
    return example.text if text == example.twin else example.twin


def comparison_text(text: str, text_b: str | None) -> str:
    """Return a text to compare this one with: an example's twin, or the text without its last word; "" for one word."""
    example = example_for(text, text_b)
    return (example and other_twin(example, text)) or " ".join(text.split()[:-1])


def token_of(tokens: Tokens, texts: tuple[str | None, ...], word: str) -> int | None:
    """Return the first token of `word`, at its first occurrence as a whole word in any of the texts."""
    for segment, text in enumerate(texts):
        match = re.search(rf"\b{re.escape(word)}\b", text or "")
        if match:
            for token, (start, end) in enumerate(tokens.spans):
                if tokens.segments[token] == segment and start <= match.start() < end:
                    return token
    return None


def word_at(tokens: Tokens, token: int | None, text: str) -> tuple[int, int] | None:
    """Return the span in the text of the word that contains this token, without surrounding spaces; None if the token
    is outside the text."""
    if token is None or token >= len(tokens) or tokens.special[token] or tokens.segments[token] != 0:
        return None
    same = [tokens.words[place] == tokens.words[token] >= 0 and tokens.segments[place] == 0
            for place in range(len(tokens))]
    members = [place for place, mine in enumerate(same) if mine or place == token]
    start, end = min(tokens.spans[member][0] for member in members), max(tokens.spans[member][1] for member in members)
    word = text[start:end]
    start += len(word) - len(word.lstrip())
    return (start, start + len(word.strip())) if word.strip() else None
