"""What is on screen for one head: words, hidden tokens, filter and renormalisation, applied once, here.

Figures, components and exports draw a `Shown`; none of them touches a weight again.
"""
import functools
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.query import Kind, UserError
from model.core.record import AttentionMap, AttentionRecord, Layer, Reported, Tokens
from model.core.view import View

MAX_UNPOOLED = 2048  # a head of more tokens than this is shown pooled, and in exact tiles


@dataclass(frozen=True)
class AxisItem:
    """A row or a column: one token, or the tokens of one word. joined: it continues the word of the token before it."""

    text: str
    tokens: tuple[int, ...]
    special: bool
    unknown: bool
    joined: bool


@dataclass(frozen=True, eq=False)
class DisplayedHead:
    """One head as displayed. weights: float32 (row, column), 0 where filtered out. scores: the same shape, NaN where
    the mask forbids; None where scores have no meaning (words) or the model did not tell. notes: sentences on what
    differs from the plain head. """

    kind: Kind
    layer: int
    head: int
    rows: tuple[AxisItem, ...]
    columns: tuple[AxisItem, ...]
    weights: np.ndarray
    scores: np.ndarray | None
    notes: tuple[str, ...]

    def row_of(self, token: int | None) -> int | None:
        """The row in which this query token stands, if it is shown."""
        return _place(self.rows, token)

    def column_of(self, token: int | None) -> int | None:
        return _place(self.columns, token)


def _place(units: tuple[AxisItem, ...], token: int | None) -> int | None:
    return next((place for place, unit in enumerate(units) if token in unit.tokens), None)


@functools.lru_cache(32)   # every picture of a text asks for the same
def units(tokens: Tokens, words: bool) -> tuple[AxisItem, ...]:
    """The rows or columns that a list of tokens makes: one each, or one a word."""
    groups: list[list[int]] = []
    for token in range(len(tokens)):
        groups[-1].append(token) if words and _joined(tokens, token) else groups.append([token])
    return tuple(AxisItem("".join(_bare(tokens.texts[token]) if len(group) > 1 else tokens.texts[token]
                                  for token in group), tuple(group),
                      all(tokens.special[token] for token in group), any(tokens.unknown[token] for token in group),
                      _joined(tokens, group[0])) for group in groups)


def _joined(tokens: Tokens, token: int) -> bool:
    """Whether a token continues the word of the token before it."""
    here, before = ((tokens.words[each], tokens.segments[each]) for each in (token, token - 1))
    return token > 0 and tokens.words[token] >= 0 and here == before


def _bare(piece: str) -> str:
    """A word piece without the mark that says it continues a word."""
    return piece.removeprefix("##")


def _by_word(weights: np.ndarray, rows: tuple[AxisItem, ...], columns: tuple[AxisItem, ...]) -> np.ndarray:
    """Sum over the pieces attended to, mean over the pieces attending (Clark et al. 2019, section 4.1)."""
    summed = np.add.reduceat(weights, [unit.tokens[0] for unit in columns], axis=1)
    sizes = np.array([len(unit.tokens) for unit in rows], np.float32)[:, None]
    return np.add.reduceat(summed, [unit.tokens[0] for unit in rows], axis=0) / sizes


def keep_mass(weights: np.ndarray, share: float) -> np.ndarray:
    """The fewest largest weights of each row that together reach `share` of the row's sum; the others become 0. float32
    (row, column)."""
    order = np.argsort(-weights, axis=1, kind="stable")
    ranked = np.take_along_axis(weights, order, 1)
    before = np.cumsum(ranked, axis=1) - ranked
    kept = before < share * weights.sum(1, keepdims=True) - 1e-7
    return np.where(np.take_along_axis(kept, np.argsort(order, axis=1), 1), weights, np.float32(0))


def _chosen(tokens: Tokens, all_units: tuple[AxisItem, ...], view: View, letter: str) -> list[int]:
    segment = {"A": 0, "B": 1}.get(letter)
    return [place for place, unit in enumerate(all_units) if not (view.hide_special and unit.special)
            and (segment is None or tokens.segments[unit.tokens[0]] == segment)]


def displayed_head(record: AttentionRecord, view: View) -> DisplayedHead:
    """The open head of a view. Raises UserError where the record has no such head or the filters leave nothing to
    show."""
    if view.kind not in record.kinds or not record[view.kind].has(view.layer, view.head):
        raise UserError(f"This model has no {view.kind} attention in layer {view.layer} head {view.head}; choose a "
                        f"head from the grid.")
    attention_map = record[view.kind]
    layer = attention_map.layer(view.layer)
    if max(layer.shape[1:]) > MAX_UNPOOLED:
        return _pooled(attention_map, layer, view)
    all_rows, all_columns = units(attention_map.queries, view.words), units(attention_map.keys, view.words)
    weights, scores = heads.weights(layer, view.head), heads.scores(layer, view.head)
    if view.words:
        weights, scores = _by_word(weights, all_rows, all_columns), None
    rows = _chosen(attention_map.queries, all_rows, view, view.quadrant[:1])
    columns = _chosen(attention_map.keys, all_columns, view, view.quadrant[1:])
    if not rows or not columns:
        raise UserError(
            "Nothing is left to show with these filters; show special tokens again or choose all quadrants.")
    weights = weights[np.ix_(rows, columns)]
    if view.keep < 1:
        weights = keep_mass(weights, view.keep)
    if view.renormalise:
        sums = weights.sum(1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return DisplayedHead(view.kind, view.layer, view.head, tuple(all_rows[place] for place in rows),
                         tuple(all_columns[place] for place in columns),
                 np.ascontiguousarray(weights, np.float32),
                         None if scores is None else np.ascontiguousarray(scores[np.ix_(rows, columns)]),
                 _notes(layer, view, len(rows) < len(all_rows) or len(columns) < len(all_columns)))


def _pooled(attention_map: AttentionMap, layer: Layer | Reported, view: View) -> DisplayedHead:
    """A head of more than WHOLE tokens: the largest weight of every size × size tokens, made block by block, so that
    nothing n² is ever held."""
    size = -(-max(layer.shape[1:]) // MAX_UNPOOLED)
    rows, columns = (_pools(tokens, size) for tokens in (attention_map.queries, attention_map.keys))
    weights = np.zeros((len(rows), len(columns)), np.float32)
    for some, keys, block in heads.weight_blocks(layer, slice(view.head, view.head + 1),
                                                 size=max(1, heads.ROWS // size) * size):
        # a window's block may begin inside a pool
        starts = sorted({0, *range(-keys.start % size, keys.stop - keys.start, size)})
        by_column = np.maximum.reduceat(block[0], starts, axis=1)
        pooled = np.maximum.reduceat(by_column, range(0, some.stop - some.start, size), axis=0)
        first = keys.start // size
        weights[some.start // size:some.start // size + len(pooled), first:first + pooled.shape[1]] = pooled
    note = (f"{max(layer.shape[1:]):,} tokens: each cell is the largest weight of {size} × {size} tokens, named after "
            f"the first of them; "
            "words, filters and quadrants are for texts of up to 2,048 tokens")
    return DisplayedHead(view.kind, view.layer, view.head, rows, columns, weights, None, (note,))


def _pools(tokens: Tokens, size: int) -> tuple[AxisItem, ...]:
    """Rows or columns of `size` tokens each."""
    return tuple(AxisItem(tokens.texts[start], tuple(range(start, min(start + size, len(tokens)))),
                          tokens.special[start], tokens.unknown[start], False)
                 for start in range(0, len(tokens), size))


def _notes(layer, view: View, cut: bool) -> tuple[str, ...]:
    """What a reader must know so that the picture is not taken for the plain head."""
    notes = []
    if view.words:
        notes.append("words: summed over the pieces attended to, averaged over the pieces attending")
    if cut or view.keep < 1:
        what = [text for text, on in (("special tokens hidden", view.hide_special),
                                      (f"quadrant {view.quadrant[:1]} to {view.quadrant[1:]}", view.quadrant),
                                      (f"largest weights up to {view.keep:.0%} of each row", view.keep < 1)) if on]
        notes.append(", ".join(what) + ("; rows renormalised to 1" if view.renormalise
                                        else "; rows no longer sum to 1"))
    if getattr(layer, "sink", None) is not None:
        notes.append("this layer has a sink: rows sum to 1 minus its share")
    if getattr(layer, "temperature", None) is not None and layer.temperature[view.head] != 1:
        notes.append(f"temperature {layer.temperature[view.head]:g} inside the model")
    return tuple(notes)
