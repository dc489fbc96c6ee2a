"""Which tokens of two records stand for the same characters: a changed word, an inserted word, a different tokenizer."""
import difflib
import re
from dataclasses import dataclass

import numpy as np

from model.query import Kind
from model.record import AttentionRecord, Tokens

IDEOGRAMS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"   # written without spaces: each is compared alone
WORD = re.compile(rf"[{IDEOGRAMS}]|[^\W{IDEOGRAMS}]+|[^\w\s]")
Bundle = tuple[set, list[int], list[int]]   # what its tokens can be met by; tokens of the first text, of the second


@dataclass(frozen=True)
class Group:
    """Tokens of two texts that stand for the same characters, or that one word was changed into; one side is empty for an inserted word."""

    text: str
    first: tuple[int, ...]
    second: tuple[int, ...]

    @property
    def both(self) -> bool:
        return bool(self.first and self.second)


def written(record: AttentionRecord, kind: Kind, side: str) -> tuple[str, list[tuple[int, int]]]:
    """The text that the queries or keys of a kind were cut from, and each token's span in it; empty for special tokens."""
    tokens, query = getattr(record[kind], side), record.query
    target = Kind.CROSS in record.kinds and (kind is Kind.CAUSAL or (kind is Kind.CROSS and side == "queries"))
    text = query.text if query.text_b is None else f"{query.text}\n{query.text_b}"
    starts = {0: 0, 1: len(query.text) + 1}
    if not target and not query.continuation:
        return text, [(0, 0) if special else (starts.get(segment, 0) + start, starts.get(segment, 0) + end)
                      for (start, end), special, segment in zip(tokens.spans, tokens.special, tokens.segments, strict=True)]
    pieces, spans = "", []
    for each, special in zip(tokens.texts, tokens.special, strict=True):
        spans.append((0, 0) if special else (len(pieces), len(pieces) + len(each)))
        pieces += "" if special else f"{each} "
    return pieces, spans


def _anchors(first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """A number for each character of both texts, int; characters that belong together have the same one, those that stand alone −1."""
    words = [[(each.group().casefold(), each.span()) for each in WORD.finditer(text)] for text in (first, second)]
    found = np.full(len(first), -1), np.full(len(second), -1)
    matcher = difflib.SequenceMatcher(None, *([word for word, _ in side] for side in words), autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        ones, others = ([span for _, span in side[start:end]] for side, start, end in zip(words, (i, j), (i_end, j_end), strict=True))
        if kind == "replace" and len(ones) != len(others):
            ones, others = [(ones[0][0], ones[-1][1])], [(others[0][0], others[-1][1])]
        if kind in ("equal", "replace"):
            for (start, end), (begin, stop) in zip(ones, others, strict=True):
                same = kind == "equal" and end - start == stop - begin
                found[0][start:end] = np.arange(start, end) if same else start
                found[1][begin:stop] = np.arange(start, end) if same else start
    return found


def align(first: AttentionRecord, second: AttentionRecord, kinds: tuple[Kind, Kind], side: str) -> tuple[Group, ...]:
    """The queries or keys of two records in groups, in the order of the first; what only the second has stands where it stands there.

    Words are matched as a diff matches lines; pieces of different tokenizers meet where they share a character; special tokens by their text.
    """
    tokens = [getattr(record[kind], side) for record, kind in zip((first, second), kinds, strict=True)]
    (one, spans), (other, others) = (written(record, kind, side) for record, kind in zip((first, second), kinds, strict=True))
    anchors = _anchors(one, other)
    meets = [_meets(each, places, found) for each, places, found in zip(tokens, (spans, others), anchors, strict=True)]
    groups: list[Bundle] = []
    for place in range(2):
        for token, wanted in enumerate(meets[place]):
            groups = _joined(groups, wanted, place, token)
    return tuple(_named(group, tokens) for group in _ordered(groups))


def _joined(groups: list[Bundle], wanted: set, place: int, token: int) -> list[Bundle]:
    """The groups with one more token of a side: all that it meets become one."""
    mine = [each for each in groups if each[0] & wanted]
    members: tuple[list[int], list[int]] = ([], [])
    members[place].append(token)
    for each in mine:
        members[0].extend(each[1])
        members[1].extend(each[2])
    return [each for each in groups if not each[0] & wanted] + [(wanted.union(*(each[0] for each in mine)), *map(sorted, members))]


def _meets(tokens: Tokens, spans: list[tuple[int, int]], anchors: np.ndarray) -> list[set]:
    """What each token can be met by: its characters' numbers, or its text and how often it was there before where it is special."""
    seen: dict[str, int] = {}
    found = []
    for token, (start, end) in enumerate(spans):
        if tokens.special[token]:
            count = seen[tokens.texts[token]] = seen.get(tokens.texts[token], -1) + 1
            found.append({(tokens.texts[token], count)})
        else:
            found.append({int(each) for each in anchors[start:end] if each >= 0})
    return found


def _ordered(groups: list[Bundle]) -> list[Bundle]:
    """By the place in the first text; a group of the second alone comes behind what stands before it there."""
    place = {token: each[1][0] for each in groups if each[1] for token in each[2]}

    def key(each) -> tuple[float, int]:
        if each[1]:
            return each[1][0], -1
        return max((place[token] for token in place if token < each[2][0]), default=-1) + 0.5, each[2][0]

    return sorted(groups, key=key)


def _named(group: Bundle, tokens: list[Tokens]) -> Group:
    said = ["".join(side.texts[token].removeprefix("##") for token in mine).strip() for side, mine in zip(tokens, group[1:], strict=True)]
    text = said[0] if said[0].casefold() == said[1].casefold() else " ⇄ ".join(each or "∅" for each in said)
    return Group(text, tuple(group[1]), tuple(group[2]))
