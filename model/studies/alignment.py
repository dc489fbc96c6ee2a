"""Align the tokens of two records by their characters, across changed words, inserted words and different
tokenizers."""
import difflib
import itertools
import re
from collections.abc import Sequence

import numpy as np

from clearhead.model.core.query import Kind, Span, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import numbered
from clearhead.model.core.tokens import Tokens

IDEOGRAMS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"   # written without spaces: each character is compared on its own
WORD = re.compile(rf"[{IDEOGRAMS}]|[^\W{IDEOGRAMS}]+|[^\w\s]")
ALIKE = 0.6   # Ratcliff and Obershelp's ratio above which a changed word is matched character by character
TokenGroups = tuple[list[int], list[int]]   # tokens of the first text, and of the second


@frozen
class Group:
    """Corresponding tokens of two texts: the same characters, or the two forms of a changed word. One side is empty for
    an inserted word."""

    text: str
    first: tuple[int, ...]
    second: tuple[int, ...]

    @property
    def both(self) -> bool:
        """Whether the group has tokens of both texts."""
        return bool(self.first and self.second)


def source_text(record: AttentionRecord, kind: Kind, side: str) -> tuple[str, list[Span]]:
    """Return the text of a kind's queries or keys, and each token's span in it; special tokens have an empty span."""
    tokens, query = getattr(record[kind], side), record.query
    target = any(each.base is Kind.CROSS for each in record.kinds) and (
        kind.base is Kind.CAUSAL or (kind.base is Kind.CROSS and side == "queries"))
    text = query.text if query.text_b is None else f"{query.text}\n{query.text_b}"
    if not target and not query.continuation:
        offsets = [(len(query.text) + 1) * (segment == 1) for segment in tokens.segments]
        return text, [(0, 0) if special else (offset + start, offset + end)
                      for (start, end), special, offset in zip(tokens.spans, tokens.special, offsets, strict=True)]
    pieces, spans = "", []
    for each, special in zip(tokens.texts, tokens.special, strict=True):
        spans.append((0, 0) if special else (len(pieces), len(pieces) + len(each)))
        pieces += "" if special else f"{each} "
    return pieces, spans


def equal_words(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of the equal words that correspond, in order.

    Minimises the edit distance (Levenshtein 1966; Wagner and Fischer 1974). A diff by longest blocks would misalign
    repetitive texts.
    """
    one, other = np.split(numbered([*first, *second]), [len(first)])
    costs, along = np.zeros((len(one) + 1, len(other) + 1), np.int32), np.arange(len(other) + 1, dtype=np.int32)
    costs[0] = along
    for i, number in enumerate(one, 1):
        costs[i, 0] = i
        costs[i, 1:] = np.minimum(costs[i - 1, :-1] + (other != number), costs[i - 1, 1:] + 1)
        costs[i] = np.minimum.accumulate(costs[i] - along) + along
    pairs, i, j = [], len(one), len(other)
    while i and j:
        both = costs[i, j] == costs[i - 1, j - 1] + (one[i - 1] != other[j - 1])
        down = both or costs[i, j] == costs[i - 1, j] + 1
        i, j = i - int(down), j - int(both or not down)
        if both and one[i] == other[j]:
            pairs.append((i, j))
    return pairs[::-1]


def _anchors(first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """Return an int for every character of both texts: matching characters share a number, unmatched ones have −1."""
    words = [list(WORD.finditer(text)) for text in (first, second)]
    texts = [[word.group().casefold() for word in side] for side in words]
    spans = [[word.span() for word in side] for side in words]
    numbers, i, j = (np.full(len(first), -1), np.full(len(second), -1)), 0, 0
    for i_end, j_end in [*equal_words(*texts), (len(texts[0]), len(texts[1]))]:
        ones, others = spans[0][i:i_end], spans[1][j:j_end]   # what differs before the next equal word
        if len(ones) != len(others):
            ones, others = ([(side[0][0], side[-1][1])] if side else [] for side in (ones, others))
        i, j = i_end + 1, j_end + 1
        for (start, end), (begin, stop) in [*zip(ones, others, strict=False),
                                            *zip(spans[0][i_end:i], spans[1][j_end:j], strict=True)]:
            numbers[0][start:end], numbers[1][begin:stop] = _changed(first[start:end], second[begin:stop], start)
    return numbers


def _changed(one: str, other: str, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the characters of a word and of its form in the other text, from `start`. Matching characters share a
    number if the two forms are equal, in either case, or similar; otherwise all characters have the number `start`."""
    if one.casefold() == other.casefold() and len(one) == len(other):
        return (np.arange(start, start + len(one)),) * 2
    marks = np.full(len(one), start), np.full(len(other), start)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < ALIKE:
        return marks
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        alone = start + i if kind == "replace" else -1
        marks[0][i:i_end] = marks[1][j:j_end] = np.arange(start + i, start + i_end) if kind == "equal" else alone
    return marks


def align(first: AttentionRecord, second: AttentionRecord, kinds: tuple[Kind, Kind], side: str) -> tuple[Group, ...]:
    """Group the queries or keys of two records, in the order of the first. A group found only in the second follows the
    group that precedes it there.

    Words are matched by minimal edit distance. Subword tokens match if they share a character; special tokens match if
    they have the same text.
    """
    records = [*zip((first, second), kinds, strict=True)]
    tokens = [getattr(record[kind], side) for record, kind in records]
    texts, spans = zip(*(source_text(record, kind, side) for record, kind in records), strict=True)
    meets = [*map(_anchors_of, tokens, spans, _anchors(*texts))]
    return tuple(_label_group(group, tokens) for group in _ordered(_joined(meets)))


def _joined(meets: list[list[set]]) -> list[TokenGroups]:
    """Group tokens that match directly or through others."""
    from scipy.cluster.hierarchy import DisjointSet

    nodes = [(place, token) for place in range(2) for token in range(len(meets[place]))]
    sets = DisjointSet(nodes)
    for place, token in nodes:
        for mark in meets[place][token]:
            sets.add(("mark", mark))
            sets.merge((place, token), ("mark", mark))
    groups: dict = {}
    for place, token in nodes:
        groups.setdefault(sets[place, token], ([], []))[place].append(token)
    return list(groups.values())


def _anchors_of(tokens: Tokens, spans: list[Span], anchors: np.ndarray) -> list[set]:
    """Return each token's matching keys: the numbers of its characters, or the name of a patch or the text of a special
    token and how often it occurred before."""
    seen: dict[str, int] = {}
    marks: list[set] = []
    for token, (start, end) in enumerate(spans):
        if tokens.special[token] or token in tokens.patches or token in tokens.of_picture:
            count = seen[tokens.texts[token]] = seen.get(tokens.texts[token], -1) + 1
            marks.append({(tokens.texts[token], count)})
        else:
            marks.append({int(anchor) for anchor in anchors[start:end] if anchor >= 0})
    return marks


def _ordered(groups: list[TokenGroups]) -> list[TokenGroups]:
    """Sort groups by position in the first text. A group found only in the second follows the group that precedes it
    there."""
    place = {token: group[0][0] for group in groups if group[0] for token in group[1]}
    last = max((token for group in groups for token in group[1]), default=-1)
    behind = list(itertools.accumulate((place.get(token, -1) for token in range(last)), max, initial=-1))

    def key(each: TokenGroups) -> tuple[float, int]:
        return (each[0][0], -1) if each[0] else (behind[each[1][0]] + 0.5, each[1][0])

    return sorted(groups, key=key)


def _label_group(group: TokenGroups, tokens: list[Tokens]) -> Group:
    sides = [side.word(mine).strip() for side, mine in zip(tokens, group, strict=True)]
    text = sides[0] if sides[0].casefold() == sides[1].casefold() else " ⇄ ".join(side or "∅" for side in sides)
    return Group(text, *map(tuple, group))
