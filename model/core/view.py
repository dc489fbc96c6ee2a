"""Display settings for a record: head, token and filters. A view only selects from its record and never requests
another."""
import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import MapQuestion, Models
from clearhead.model.core.picture_rows import visual_sinks
from clearhead.model.core.query import (
    HeadId,
    Kind,
    Progress,
    UserError,
    first_line,
    frozen,
    isolated,
    quoted,
    slices,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord, Layer, Reported
from clearhead.model.core.tokens import Tokens

LENSES = ("matrix", "lines", "text", "picture")
SCALES = ("linear", "root", "log")
ORDERS = ("layer", "pair", *heads.BY_NAME)
SWITCHES = ("transpose", "hide_special", "renormalise", "words", "gated", "hide_sinks")
# subjects take precedence: in "she … her", a page asks about "she"
SUBJECTS = ("it", "he", "she", "they", "它", "他", "她")
PRONOUNS = (*SUBJECTS, "him", "her", "them", "its", "his", "their")
# English words that a sentence is rarely about
_FUNCTION_WORDS = """
a an the this that these those and or but nor so yet if than as at by for from in into of on onto to with without about
over under up down out off i you we me us my your our is are was were be been being am do does did has have had will
would can could may might must shall should not no too very just also again there here now then s t
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
QUADRANTS = ("", "AA", "AB", "BA", "BB")  # rows from the first letter's text, columns from the second letter's
CHOICES = {"lens": LENSES, "scale": SCALES, "quadrant": QUADRANTS, "order": ORDERS}   # by field of View


@frozen
class View:
    """A way to display a record. Tokens are positions in the map's queries and keys."""

    kind: Kind = Kind.SELF                # the open head's kind of attention
    layer: int = 0                        # the open head's layer, by number in the model
    head: int = 0                         # the open head
    token: int | None = None              # the query token in focus
    pair: tuple[int, int] | None = None   # (query, key): tokens whose weight ranks the heads
    lens: str = "matrix"                  # one of LENSES: how the head is drawn
    scale: str = "linear"                 # one of SCALES: maps weight to colour
    transpose: bool = False               # draw keys as rows
    overlay: tuple[HeadId, ...] = ()      # further heads drawn in the lines lens
    keep: float = 1.0                     # share of each row's weight to show, above 0 and up to 1
    hide_special: bool = False            # leave out special tokens
    renormalise: bool = False             # rescale rows to sum to 1 after filtering
    words: bool = False                   # merge the pieces of a word into one row and one column
    gated: bool = False                   # multiply each row by the share that passes the head's gate, if it has one
    hide_sinks: bool = False              # over a picture, leave out each head's visual sinks
    order: str = "layer"                  # one of ORDERS: sorts the grid's heads by layer, weight or measure
    quadrant: str = ""                    # one of QUADRANTS, for a pair of texts

    @property
    def head_id(self) -> HeadId:
        """The open head: its layer and number."""
        return self.layer, self.head

    def __post_init__(self) -> None:
        for name, known in (CHOICES | dict.fromkeys(SWITCHES, (True, False))).items():
            value = getattr(self, name)
            if not isinstance(value, type(known[0])) or value not in known:
                raise ValueError(f"View: expected {name} as one of {', '.join(map(repr, known))}, got {value!r}; "
                                 f"choose one of them.")
        if not 0 < self.keep <= 1:
            raise ValueError(f"View: expected keep above 0 and at most 1, got {self.keep}; give the share of each "
                             f"row's mass to show.")


def checked_view(record: AttentionRecord, view: View | None, changes: dict[str, Any]) -> View:
    """Return the view with these changes. Raises UserError if the record lacks it."""
    attention_map = record[changes.get("kind", view.kind if view else record.kinds[0])]
    try:
        wanted = replace(view or View(layer=attention_map.layers[0].index), **changes | {"kind": attention_map.kind})
        named = [(wanted.layer, wanted.head), *wanted.overlay]
        drawn = [(operator.index(layer), operator.index(head)) for layer, head in named]
    except (ValueError, TypeError) as error:
        raise UserError(f"This cannot be shown ({first_line(error, 200)}); choose fields of a View.") from error
    for layer, head in named:
        attention_map.of_head(layer, head)
    token, pair = wanted.token, wanted.pair
    if pair is not None and (not isinstance(pair, tuple | list) or len(pair) != 2):
        raise UserError(f"pair is {quoted(repr(pair))} but must be two tokens; write pair=(\"it\", \"animal\").")
    return replace(wanted, layer=drawn[0][0], head=drawn[0][1], overlay=tuple(drawn[1:]), keep=float(wanted.keep),
                   token=None if token is None else attention_map.queries.index(token),
                   pair=pair and (attention_map.queries.index(pair[0]), attention_map.keys.index(pair[1])))


ABOVE = 1e-3         # a weight is at most this much above 1 by rounding
BLIND_NAMED = 6      # maximum number of rows without an allowed key in a note
MAX_UNPOOLED = 2048  # heads with more tokens are shown pooled, with exact tiles


@frozen
class AxisItem:
    """A row or column: one token, or the tokens of one word."""

    text: str                 # readable
    tokens: tuple[int, ...]   # positions in the list of tokens
    special: bool             # whether all of them are special
    unknown: bool             # whether the vocabulary lacks one of them
    joined: bool              # whether it continues the previous token's word


@with_arrays
class DisplayedHead:
    """One head as displayed."""

    kind: Kind                     # kind of attention
    layer: int                     # the layer's number in the model
    head: int                      # the head's number in the layer
    rows: tuple[AxisItem, ...]     # the queries
    columns: tuple[AxisItem, ...]  # keys
    weights: np.ndarray            # float32 (row, column), 0 where filtered out
    # float32 (row, column), NaN where masked; None where scores have no meaning (merged words) or are not reported
    scores: np.ndarray | None
    notes: tuple[str, ...]         # sentences on how this differs from the unfiltered head
    blind: tuple[int, ...] = ()    # rows whose mask allows no key
    sparse: bool = False           # whether the model chose the keys of each row
    # largest number, without a sign, of one whose numbers go below 0 or above 1; None for weights from 0 to 1
    bound: float | None = None

    def row_of(self, token: int | None) -> int | None:
        """Return the row of this query token, or None if it is not shown."""
        return _index_of(self.rows, token)

    def column_of(self, token: int | None) -> int | None:
        """Return the column of this key token, or None if it is not shown."""
        return _index_of(self.columns, token)

    def cell_of(self, pair: tuple[int, int]) -> tuple[int, int] | None:
        """Return the row and column of a query and a key token, or None if one is not shown."""
        row, column = self.row_of(pair[0]), self.column_of(pair[1])
        return None if row is None or column is None else (row, column)


def _index_of(items: tuple[AxisItem, ...], token: int | None) -> int | None:
    return next((index for index, item in enumerate(items) if token in item.tokens), None)


def axis_items(tokens: Tokens, words: bool) -> tuple[AxisItem, ...]:
    """Return the rows or columns for a list of tokens: one per token, or one per word."""
    groups: list[list[int]] = []
    for token in range(len(tokens)):
        groups[-1].append(token) if words and _joined(tokens, token) else groups.append([token])
    return tuple(_axis_item(tokens, group) for group in groups)


def _axis_item(tokens: Tokens, group: list[int]) -> AxisItem:
    return AxisItem(tokens.word(group) if len(group) > 1 else tokens.texts[group[0]], tuple(group),
                    all(tokens.special[token] for token in group), any(tokens.unknown[token] for token in group),
                    _joined(tokens, group[0]))


def _joined(tokens: Tokens, token: int) -> bool:
    """Return whether a token continues the previous token's word."""
    return (token > 0 and tokens.words[token] >= 0 and tokens.words[token] == tokens.words[token - 1]
            and tokens.segments[token] == tokens.segments[token - 1])


def telling_token(tokens: Tokens) -> int:
    """Return the token that a reader would look at first: the last pronoun after the first word, preferably a subject;
    else the last content word, the last word, or the last token that is not special. For a word in several pieces,
    return the first piece."""
    words = [(item.text.strip().lower(), item.tokens[0]) for item in axis_items(tokens, words=True)
             if not item.special and not item.unknown and any(map(str.isalpha, item.text))]
    subjects, pronouns = ([token for text, token in words[1:] if text in known] for known in (SUBJECTS, PRONOUNS))
    content = [token for text, token in words if text not in FUNCTION_WORDS]
    plain = [token for token in range(len(tokens)) if not tokens.special[token]]
    return (subjects or pronouns or content or [token for _, token in words] or plain or [0])[-1]


def _by_word(weights: np.ndarray, nothing: np.ndarray, rows: tuple[AxisItem, ...],
             columns: tuple[AxisItem, ...]) -> np.ndarray:
    """Merge pieces into words: sum over keys, average over queries (Clark et al. 2019, section 4.1). Pieces without an
    allowed key are left out of the average."""
    summed = np.add.reduceat(weights, [item.tokens[0] for item in columns], axis=1)
    starts = [item.tokens[0] for item in rows]
    seeing = np.add.reduceat(~nothing, starts, dtype=np.float32)[:, None]
    return np.add.reduceat(summed, starts, axis=0) / np.maximum(seeing, 1)


def keep_mass(weights: np.ndarray, share: float) -> np.ndarray:
    """Keep the fewest largest weights of each row that reach `share` of its sum and set the others to 0, whatever their
    signs. Arrays are float32 (row, column)."""
    sizes = np.abs(weights)
    order = np.argsort(-sizes, axis=1, kind="stable")
    ranked = np.take_along_axis(sizes, order, 1)
    before = np.cumsum(ranked, axis=1) - ranked
    needed = before < share * sizes.sum(1, keepdims=True) - 1e-7
    return np.where(np.take_along_axis(needed, np.argsort(order, axis=1), 1), weights, np.float32(0))


def _visible(tokens: Tokens, items: tuple[AxisItem, ...], view: View, letter: str) -> list[int]:
    """Return the indices of the items that pass the view's filters; `letter` is the quadrant's letter for this text."""
    segment = {"A": 0, "B": 1}.get(letter)
    return [index for index, item in enumerate(items) if not (view.hide_special and item.special)
            and (segment is None or tokens.segments[item.tokens[0]] == segment)]


def displayed_rows(attention_map: AttentionMap, view: View) -> tuple[np.ndarray, ...]:
    """Return the weights of the view's token in every head: for each layer float32 (head, key) after the view's
    filters, like a row of `displayed_head` without words and quadrants; NaN where masked or filtered out."""
    token = view.token or 0
    visible = np.array([not (view.hide_special and special) for special in attention_map.keys.special])
    rows = []
    for layer in attention_map.layers:
        shown = allowed_keys(layer, token) & visible & np.array([
            ~visual_sinks(attention_map, layer, head) if view.hide_sinks else visible for head in range(layer.heads)])
        kept = _filtered(np.where(shown, heads.row_weights(layer, token), np.float32(0)), view)
        rows.append(np.where(shown & ((kept != 0) | (view.keep == 1)), kept, np.float32(np.nan)))
    return tuple(rows)


def allowed_keys(layer: Layer | Reported, query: int) -> np.ndarray:
    """Return which keys a token may attend to, bool (head or 1, key)."""
    n_keys = layer.shape[2]
    return layer.allowed.block(slice(query, query + 1), slice(0, n_keys)).reshape(-1, n_keys)


def overlaid_heads(record: AttentionRecord, view: View) -> list[DisplayedHead]:
    """Return the heads that the lines lens draws besides the open one, in the view's order."""
    further = view.overlay if view.lens == "lines" else ()
    return [displayed_head(record, replace(view, layer=layer, head=head)) for layer, head in further]


def displayed_head(record: AttentionRecord, view: View) -> DisplayedHead:
    """Return the view's open head. Raises UserError if the record has no such head or the filters leave nothing to
    show."""
    attention_map = record[view.kind]
    layer = attention_map.of_head(view.layer, view.head)
    if max(layer.shape[1:]) > MAX_UNPOOLED:
        return _pooled(attention_map, layer, view)
    all_rows, all_columns = axis_items(attention_map.queries, view.words), axis_items(attention_map.keys, view.words)
    weights, scores = heads.weights(layer, view.head), heads.scores(layer, view.head)
    nothing = layer.sees_nothing[view.head]
    if view.gated and layer.gate is not None:
        weights = weights * layer.gate[view.head][:, None]
    if view.words:
        weights, scores = _by_word(weights, nothing, all_rows, all_columns), None
    rows = _visible(attention_map.queries, all_rows, view, view.quadrant[:1])
    columns = _visible(attention_map.keys, all_columns, view, view.quadrant[1:])
    if not rows or not columns:
        raise UserError("These filters leave nothing to show; show special tokens again or choose all "
                        "quadrants.")
    cut = len(rows) < len(all_rows) or len(columns) < len(all_columns)
    shown = _filtered(weights[np.ix_(rows, columns)], view)
    most = max(float(np.abs(shown).max()), ABOVE)
    blind = tuple(at for at, row in enumerate(rows) if nothing[list(all_rows[row].tokens)].all())
    return DisplayedHead(view.kind, view.layer, view.head, tuple(all_rows[row] for row in rows),
                         tuple(all_columns[column] for column in columns),
                         shown, None if scores is None else np.ascontiguousarray(scores[np.ix_(rows, columns)]),
                         _notes(layer, view, cut) + _blind_notes([all_rows[rows[at]] for at in blind], len(rows)),
                         blind, layer.sparse is not None,
                         most if attention_map.signed or most > 1 + ABOVE else None)


def _blind_notes(blind: list[AxisItem], count: int) -> tuple[str, ...]:
    """Describe in words which rows have no allowed key."""
    if not blind:
        return ()
    if len(blind) == count:
        return ("masked out: the mask lets no token of this head look at anything",)
    named = ", ".join(f"{isolated(item.text)} ({item.tokens[0]})" for item in blind[:BLIND_NAMED])
    more = f" and {len(blind) - BLIND_NAMED} more" if len(blind) > BLIND_NAMED else ""
    return (f"sees nothing, as the mask allows no key: {named}{more}",)


def _filtered(weights: np.ndarray, view: View) -> np.ndarray:
    if view.keep < 1:
        weights = keep_mass(weights, view.keep)
    if view.renormalise:
        sums = np.abs(weights).sum(1, keepdims=True)   # those of signed rows may be 0
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return np.ascontiguousarray(weights, np.float32)


def _pooled(attention_map: AttentionMap, layer: Layer | Reported, view: View) -> DisplayedHead:
    """Max-pool a head with more than MAX_UNPOOLED tokens over size × size tokens."""
    size = -(-max(layer.shape[1:]) // MAX_UNPOOLED)
    rows, columns = (
        tuple(AxisItem(tokens.texts[some.start], tuple(range(some.start, some.stop)), tokens.special[some.start],
                       tokens.unknown[some.start], False) for some in slices(len(tokens), size))
        for tokens in (attention_map.queries, attention_map.keys))
    weights = heads.pooled_weights(layer, (size, size), slice(view.head, view.head + 1))[0]
    largest = "size of a weight" if attention_map.signed else "weight"
    note = (f"{max(layer.shape[1:]):,} tokens: each cell is the largest {largest} of {size} × {size} tokens, named "
            "after the first of them; words, gates, filters and quadrants are for texts of up to 2,048 tokens")
    return DisplayedHead(view.kind, view.layer, view.head, rows, columns, weights, None, (note,))


def _notes(layer: Layer | Reported, view: View, cut: bool) -> tuple[str, ...]:
    """Describe in words how the picture differs from the unfiltered head."""
    notes = []
    if view.words:
        notes.append("words: summed over the pieces attended to, averaged over the pieces attending")
    if cut or view.keep < 1:
        filters = (("special tokens hidden", view.hide_special),
                   (f"quadrant {view.quadrant[:1]} to {view.quadrant[1:]}", view.quadrant),
                   (f"largest weights up to {view.keep:.0%} of each row", view.keep < 1))
        sums = "rows renormalised to 1" if view.renormalise else "rows no longer sum to 1"
        notes.append(", ".join(text for text, on in filters if on) + f"; {sums}")
    if (layer.sink if isinstance(layer, Layer) else layer.sink_share) is not None:
        notes.append("this layer has a sink: rows sum to 1 minus its share")
    if layer.minus is not None:
        notes.append(f"signed: a softmax minus λ = {layer.minus_factor:.3f} times a second one, so rows sum to "
                     f"1 − λ = {1 - layer.minus_factor:.3f}; struck through: negative".replace("-", "−"))
    if layer.sparse is not None:
        notes.append(f"sparse: the model chooses at most {layer.sparse.most} of {layer.shape[2]} keys for each query "
                     f"and does not look at the others")
    if view.gated and layer.gate is not None:
        notes.append("weight × gate: each row times the share of the output that passes what follows the head")
    if layer.temperature is not None and layer.temperature[view.head] != 1:
        notes.append(f"temperature {layer.temperature[view.head]:g} inside the model")
    return tuple(notes)


@frozen
class TokenRankingQuery(MapQuestion):
    """A request to rank the heads of one kind by their weights at one token."""

    token: int   # a position in the map's queries

    def answer(self, models: Models, report: Progress) -> "TokenRanking":
        """Rank the heads in the query's record."""
        attention_map = self.attention_map(models, report)
        looking = () if attention_map.kind.base is Kind.CROSS else attention_map.layers
        columns = ((layer.index, _column(layer, self.token)) for layer in looking)
        return TokenRanking(links_from(attention_map, self.token),
                            _largest(columns, _partners(attention_map.queries, self.token)))


@frozen
class Link:
    """One head's largest weight between a token and any other."""

    layer: int      # number of the layer in the model
    head: int       # number of the head in the layer
    other: int      # the other token: a key if the link starts at the token, a query if it ends there
    weight: float   # 0 to 1


@frozen
class TokenRanking:
    """The strongest link of each head in either direction, largest weight first, ties in model order.

    Links to the token itself, its neighbours, special tokens and, in causal models, the first token are ignored,
    because most heads attend to these. Heads without any other weight are left out.
    """

    from_token: tuple[Link, ...]
    at_token: tuple[Link, ...]   # empty for cross-attention, whose queries cannot be attended to


def links_from(attention_map: AttentionMap, token: int) -> tuple[Link, ...]:
    """Return the links from a token, as in `TokenRanking`. This needs only one row per head."""
    partners = _partners(attention_map.keys, None if attention_map.kind.base is Kind.CROSS else token)
    if attention_map.kind.base is Kind.CAUSAL:
        partners[0] = False
    return _largest(((layer.index, heads.row_weights(layer, token)) for layer in attention_map.layers), partners)


def _partners(side: Tokens, token: int | None) -> np.ndarray:
    partners = ~np.array(side.special, bool)
    if token is not None:
        partners[max(0, token - 1):token + 2] = False
    return partners


def _column(layer: Layer | Reported, key: int) -> np.ndarray:
    """Return the weights that one token receives in every head of the layer, float32 (head, query)."""
    column = np.zeros(layer.shape[:2], np.float32)
    for rows, keys, block in heads.weight_blocks(layer):
        if keys.start <= key < keys.stop:
            column[:, rows] = block[:, :, key - keys.start]
    return column


def _largest(layers: Iterator[tuple[int, np.ndarray]], partners: np.ndarray) -> tuple[Link, ...]:
    """Find every head's largest weight among the partners; `layers` yields (number, (head, token))."""
    links = [Link(layer, head, int(row.argmax()), float(row.max())) for layer, numbers in layers
             for head, row in enumerate(np.where(partners, numbers, 0))]
    return tuple(sorted((link for link in links if link.weight > 0), key=lambda link: -link.weight))   # a stable sort
