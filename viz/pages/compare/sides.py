"""What the two sides of a comparison are called: by their sentences, models, heads, or by what was done to one."""
from dataclasses import dataclass

from model.core.record import AttentionRecord
from model.core.types import HeadId
from viz.format import head_label
from viz.text import strings

SHORT, LONG = 24, 70   # signs of a name in a table or under a difference, and over a picture
AROUND = 4             # words left before and after those that differ, in a sentence that is longer
MARKS = ".,;:!?"
EQUAL = 1e-6           # weights that differ by less are equal


@dataclass(frozen=True)
class Sides:
    """Two names for each side, plain text."""

    short: tuple[str, str]
    long: tuple[str, str]


def sides(way: str, records: tuple[AttentionRecord, AttentionRecord], heads: tuple[HeadId, HeadId],
          edit: str = "") -> Sides:
    """The names of a comparison with another sentence ("text"), "model", "edit" of a head, or "head". edit: what was
    done, in words."""
    if way == "text":
        return of_sentences(records[0].query.text, records[1].query.text)
    if way == "edit":
        names = strings("compare")["as_it_stands"], edit
    elif way == "model" and records[0].card.title != records[1].card.title:
        names = records[0].card.title, records[1].card.title
    else:
        names = head_label(*heads[0]), head_label(*heads[1])
    return Sides((_cut(names[0], SHORT), _cut(names[1], SHORT)), names)


def of_pictures(one: str, other: str) -> Sides:
    """Two pictures by their names."""
    return Sides((_cut(one, SHORT), _cut(other, SHORT)), (one, other))


def of_sentences(one: str, other: str) -> Sides:
    """Two sentences: in short the words by which they differ, at length the sentence, or the part of it round them."""
    texts = one.split(), other.split()
    start, end = _shared(*texts)
    if len(texts[0]) - end == start or len(texts[1]) - end == start:   # words that one of them has more
        start, end = (start - 1, end) if start else (start, end - 1)
    differing = [" ".join(words[max(start, 0):len(words) - max(end, 0)]).strip(MARKS) for words in texts]
    short = tuple(_cut(words, SHORT) for words in differing)
    if len(set(short)) < 2 or not all(short):
        short = tuple(strings("compare")["sentences"])
    return Sides((short[0], short[1]), (_excerpt(texts[0], start, end), _excerpt(texts[1], start, end)))


def _shared(one: list[str], other: list[str]) -> tuple[int, int]:
    """How many words both begin with, and how many of the others both end with."""
    most = min(len(one), len(other))
    start = next((place for place in range(most) if one[place] != other[place]), most)
    end = next((place for place in range(most - start) if one[-1 - place] != other[-1 - place]), most - start)
    return start, end


def _excerpt(words: list[str], start: int, end: int) -> str:
    """The sentence; of a long one the words round those from `start` to `end` words before its end."""
    text = " ".join(words)
    if len(text) <= LONG:
        return text
    first, last = max(0, start - AROUND), min(len(words), len(words) - end + AROUND)
    text = " ".join(words[first:last])
    return ("… " if first else "") + _cut(text, LONG) + (" …" if last < len(words) and len(text) <= LONG else "")


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[:size - 1].rstrip() + "…"
