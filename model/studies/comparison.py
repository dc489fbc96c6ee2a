"""Compare two records: align their tokens, subtract one head's weights from another's, and rank the heads by how much
they changed. Only needs numpy and pandas.

A row of weights is a distribution over keys. Rows over different tokens are compared over the aligned keys plus one
that holds the remaining weight. The measure is the Jensen–Shannon divergence in bits (Lin 1991): 0 for equal rows, 1
for rows without overlap. """
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import heads, statistics
from clearhead.model.core.models import Models
from clearhead.model.core.query import (
    HeadId,
    Kind,
    KindHeadId,
    Progress,
    Query,
    UserError,
    counted,
    errors_at,
    frozen,
    quiet,
    quoted,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.statistics import interval_columns, jensen_shannon, mean_intervals
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.view import MAX_UNPOOLED, AxisItem, DisplayedHead
from clearhead.model.studies.alignment import Group, align

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST = MAX_UNPOOLED   # maximum number of tokens, because every head's full matrix is computed


@frozen
class AlignmentQuery:
    """Which queries and keys of two records correspond?"""

    first: Query
    second: Query
    kinds: tuple[Kind, Kind]

    def answer(self, models: Models, report: Progress) -> "Alignment":
        """Align the two records. Raises UserError for texts of more than LONGEST tokens."""
        return align_texts(models.record(self.first, report), models.record(self.second, report), self.kinds)


@with_arrays
class Alignment:
    """The corresponding tokens of two records."""

    rows: tuple[Group, ...]      # groups of queries
    columns: tuple[Group, ...]   # groups of keys


@frozen
class ComparisonQuery:
    """How much does each head differ between two records?"""

    first: Query
    second: Query
    kinds: tuple[Kind, Kind]     # kinds of attention in the first and in the second
    head: HeadId | None = None   # the second's head to compare every head with; None for the head with the same id

    def answer(self, models: Models, report: Progress) -> "Comparison":
        """Compare the two records. Raises UserError if they cannot be compared."""
        return compare(models.record(self.first, report), models.record(self.second, report), self.kinds, self.head,
                       report)


@with_arrays
class Comparison:
    """How much every head of the first record differs from its counterpart."""

    heads: tuple[HeadId, ...]   # heads of the first record, in the order of the array
    changed: np.ndarray         # mean Jensen–Shannon divergence of a head's rows in bits, float64 (head)

    def frame(self) -> "DataFrame":
        """Return one row per head of the first record, most different first, with the divergence in bits."""
        return _ranked(self.heads, {"divergence": self.changed})


def _ranked(ids: tuple[HeadId, ...], columns: dict[str, np.ndarray]) -> "DataFrame":
    return heads.head_frame(ids, columns).sort_values("divergence", ascending=False, kind="stable")


def pool_weights(weights: np.ndarray, rows: Sequence[tuple[int, ...]],
                 columns: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Pool weights (query, key) into groups, float64 (row, column): the sum over a group's keys, averaged over its
    queries (Clark et al. 2019, section 4.1); NaN for an empty group."""
    from scipy.sparse import csr_array

    sums = [csr_array((np.ones(sum(map(len, groups))), [token for group in groups for token in group],
                       np.cumsum([0, *map(len, groups)])), shape=(len(groups), count))
            for groups, count in zip((rows, columns), weights.shape, strict=True)]
    sizes, members = (each.sum(1) for each in sums)
    with np.errstate(invalid="ignore"):   # 0/0 for an empty group of rows
        pooled = (sums[0] @ (weights.astype(np.float64) @ sums[1].T)) / sizes[:, None]
    return np.where(members > 0, pooled, np.nan)


def head_of(attention_map: AttentionMap, layer: int, head: int) -> np.ndarray:
    """Return the weights of one head, float32 (query, key)."""
    return heads.weights(attention_map.layer(layer), head)


def difference(first: np.ndarray, second: np.ndarray, rows: tuple[Group, ...],
               columns: tuple[Group, ...]) -> tuple[np.ndarray, ...]:
    """Pool the weights (query, key) of both sides and return (first, second, second − first), each float64 (row group,
    column group). Groups without tokens on one side are NaN."""
    one = pool_weights(first, [row.first for row in rows], [column.first for column in columns])
    other = pool_weights(second, [row.second for row in rows], [column.second for column in columns])
    return one, other, other - one


def difference_views(first: AttentionRecord, second: AttentionRecord, heads_of: tuple[KindHeadId, ...],
                     found: Alignment) -> tuple[DisplayedHead, ...]:
    """Return a head of each record and their difference, pooled over the same groups and ready to draw. Groups without
    tokens on one side are NaN.

    heads_of: (kind, layer, head) of each side. Rows and columns are numbered by group, so an index means the same in
    all three views.
    """
    one, other = (head_of(record[kind], layer, head)
                  for record, (kind, layer, head) in zip((first, second), heads_of, strict=True))
    axes = []
    for groups, side in ((found.rows, "queries"), (found.columns, "keys")):
        tokens = [getattr(record[kind], side) for record, (kind, _, _) in zip((first, second), heads_of, strict=True)]
        axes.append(tuple(_unit(place, group, tokens) for place, group in enumerate(groups)))
    parts = zip((heads_of[0], heads_of[1], heads_of[1]), difference(one, other, found.rows, found.columns), strict=True)
    return tuple(DisplayedHead(*place, axes[0], axes[1], numbers.astype(np.float32), None, ())
                 for place, numbers in parts)


def _unit(place: int, group: Group, tokens: list[Tokens]) -> AxisItem:
    members = [(side, token) for side, mine in zip(tokens, (group.first, group.second), strict=True) for token in mine]
    return AxisItem(group.text, (place,), all(side.special[token] for side, token in members),
                    any(side.unknown[token] for side, token in members), False)


def _rows(weights: np.ndarray, rows: list[tuple[int, ...]], columns: list[tuple[int, ...]]) -> np.ndarray:
    """Return distributions (row, column + 1) over the aligned keys and the remaining weight."""
    found = pool_weights(weights, rows, columns)
    return np.concatenate([found, np.clip(1 - found.sum(-1, keepdims=True), 0, None)], -1)


def same_heads(first: AttentionRecord, second: AttentionRecord, kinds: tuple[Kind, Kind]) -> bool:
    """Return whether the heads of two models correspond, as in a base model and its fine-tuned version: the same
    architecture, apart from the output layer, and the same number and size of heads in every layer."""
    one, other = ((record.card.architecture.rpartition("(")[2],   # "BertModel (bert)"
                   kind, record.card.d_model, record.card.d_head, [layer.shape[0] for layer in record[kind].layers])
                  for record, kind in zip((first, second), kinds, strict=True))
    return one == other


def align_texts(first: AttentionRecord, second: AttentionRecord, kinds: tuple[Kind, Kind]) -> Alignment:
    """Align queries and keys. Raises UserError for texts of more than LONGEST tokens."""
    maps = [record[kind] for record, kind in zip((first, second), kinds, strict=True)]
    if max(max(len(each.queries), len(each.keys)) for each in maps) > LONGEST:
        raise UserError(f"Comparing needs whole matrices and allows at most {LONGEST:,} tokens per side; shorten the "
                        f"texts.")
    one, other = (each.keys.grid for each in maps)
    if one is not None and other is not None and one != other:
        raise UserError(f"One model splits its picture into {one[0]} × {one[1]} patches, the other into {other[0]} × "
                        f"{other[1]}, so their patches do not correspond; choose two models with the same grid.")
    return Alignment(*(align(first, second, kinds, side) for side in ("queries", "keys")))


def compare(first: AttentionRecord, second: AttentionRecord, kinds: tuple[Kind, Kind], open_head: HeadId | None = None,
            report: Progress = quiet) -> Comparison:
    """Compute the divergence of every head of the first record from its counterpart, or from the second's open head,
    over the aligned tokens.

    Raises UserError if a text is too long, if the texts share no token, or if heads have no counterpart.
    """
    one, other = first[kinds[0]], second[kinds[1]]
    for each in (one, other):
        each.check_unsigned("the divergence of two heads")
    found = align_texts(first, second, kinds)
    rows, columns = ([each for each in side if each.both] for side in (found.rows, found.columns))
    if not rows or not columns:
        raise UserError("The two texts share no token, so their rows do not correspond; choose texts that are more "
                        "alike.")
    if open_head is None and [each.shape[0] for each in one.layers] != [each.shape[0] for each in other.layers]:
        raise UserError("The two models have different numbers of layers or heads, so their heads do not correspond; "
                        "compare with one open head.")
    ends = [([getattr(row, side) for row in rows], [getattr(column, side) for column in columns])
            for side in ("first", "second")]
    fixed = None if open_head is None else _rows(head_of(other, *open_head), *ends[1])
    changed = []
    for place, layer in counted(one.layers, report, "comparing layer"):
        for head in range(layer.heads):
            theirs = _rows(heads.weights(other.layers[place], head), *ends[1]) if fixed is None else fixed
            changed.append(jensen_shannon(_rows(heads.weights(layer, head), *ends[0]), theirs).mean())
    return Comparison(heads.head_ids(one), np.array(changed))


@frozen
class ModelsQuery:
    """How much do corresponding heads of two models differ over the same texts? See `same_heads`."""

    first: tuple[str, str]       # id, revision
    second: tuple[str, str]
    texts: tuple[str, ...]
    kind: Kind | None = None     # kind of attention; None for the model's first

    def answer(self, models: Models, report: Progress) -> "Divergences":
        """Compute how much every head differs in each text. Raises UserError, with the beginning of the text, if two
        records cannot be compared."""
        changed: list[np.ndarray] = []
        ids: tuple[HeadId, ...] = ()
        unread = 0
        for _, text in counted(self.texts, report, "text"):
            with errors_at(f"Text {quoted(text)}"):
                one, other = (models.record(Query(*model, text), quiet) for model in (self.first, self.second))
                kind = self.kind or one.kinds[0]
                if kind not in one.kinds or kind not in other.kinds:
                    raise UserError(f"The two models have no {kind} attention in common; choose another kind.")
                found = compare(one, other, (kind, kind))
            ids = found.heads
            changed.append(found.changed)
            unread += bool(one.unread or other.unread)
        return Divergences(ids, self.texts, np.array(changed), unread)


@with_arrays
class Divergences:
    """How much every head differs between two models, over some texts."""

    heads: tuple[HeadId, ...]
    texts: tuple[str, ...]
    changed: np.ndarray   # mean Jensen–Shannon divergence of a head's rows in bits, float64 (text, head)
    unread: int = 0       # number of texts with a word that one of the models cannot read

    @classmethod
    def joined(cls, parts: Iterable["Divergences"]) -> "Divergences":
        """Concatenate the texts of all parts."""
        first, *others = parts
        texts = (*first.texts, *(text for each in others for text in each.texts))
        return cls(first.heads, texts, np.concatenate([first.changed, *(each.changed for each in others)]),
                   first.unread + sum(each.unread for each in others))

    @property
    def units(self) -> int:
        """The number of different texts; an equal text is no further independent one."""
        return len(set(self.texts))

    def frame(self) -> "DataFrame":
        """Return one row per head, most different first: the divergence in bits, averaged over texts, with low and high
        (95% interval over different texts; NaN for fewer than eight)."""
        groups = np.unique(self.texts, return_inverse=True)[1]
        return _ranked(self.heads, interval_columns("divergence", mean_intervals(self.changed, groups)))


def prediction_table(first: AttentionRecord, second: AttentionRecord, shown: int = 6) -> list[tuple[str, float, float]]:
    """Return [(token, probability in first, probability in second)] at the last position, for the best `shown` tokens
    of each record. A token missing from a record has NaN. Returns [] unless both records predict tokens."""
    found = [dict(zip(side.texts[-1], side.probabilities[-1], strict=True))
             for side in (first.prediction, second.prediction) if side is not None and side.ids]
    names = dict.fromkeys(name for side in found for name in list(side)[:shown]) if len(found) == 2 else ()
    return [(name, found[0].get(name, math.nan), found[1].get(name, math.nan)) for name in names]


def target_texts(first: AttentionRecord, second: AttentionRecord) -> list[list[str]]:
    """Return the most probable token after each target token, of both records.

    If both read the same target, such as before and after an edit, the second would go on differently after its first
    token that differs, so it ends there, with "…".
    """
    texts = [[best[0] for best in side.prediction.texts] for side in (first, second) if side.prediction is not None]
    differ = [place for place, (one, other) in enumerate(zip(*texts, strict=False)) if one != other]
    if differ and first.maps[-1].queries == second.maps[-1].queries:
        texts[1] = [*texts[1][:differ[0] + 1], "…"]
    return texts


def cosine(first: AttentionRecord, second: AttentionRecord) -> float | None:
    """Return the cosine of the two sentence vectors, or None unless both records have vectors of the same length."""
    vectors = [side.vector for side in (first.prediction, second.prediction)
               if side is not None and side.vector is not None]
    return statistics.cosine(*vectors) if len(vectors) == 2 and vectors[0].shape == vectors[1].shape else None
