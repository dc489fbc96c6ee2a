"""Follow one pass of a decoder stage by stage, from a text to its next word, at the text's last token.

All numbers come from one pass's record, trace and answer; nothing is fitted or rounded here. Vectors are rows; T
tokens, d_model dimensions, layers and heads count from 0.
"""
from dataclasses import dataclass

import numpy as np

from model.core import heads
from model.core.models import Models
from model.core.query import HeadId, Kind, Progress, Query, UserError
from model.core.record import Card, Tokens
from model.core.trace import Block, FeedForwardTrace, Trace
from model.studies.predictions import NextWord, NextWordQuery


@dataclass(frozen=True)
class StoryQuery:
    """What does a decoder compute on the way from a text to its next word?"""

    query: Query

    def answer(self, models: Models, report: Progress) -> "Story":
        """Compute every stage. Raises NoNextWord for a model that is not a decoder, UserError for one that cannot be
        traced."""
        word = NextWordQuery(self.query).answer(models, report)
        record, trace = models.record(self.query, report), models.trace(self.query, report)
        if not all(block.norm_first and block.feed_forward is not None for block in trace.blocks):
            raise UserError(f"The blocks of {record.card.title} do not add to an unnormalised residual stream, so "
                            f"their shares cannot be separated; choose another decoder.")
        layers = record[Kind.CAUSAL].layers
        last = len(record[Kind.CAUSAL].queries) - 1
        rows = np.stack([heads.row_weights(layer, last) for layer in layers]).astype(np.float32)
        start = trace.start(Kind.CAUSAL)
        return Story(record.card, record[Kind.CAUSAL].queries, dict(start.parts).get("token", start.output),
                     start.output, rows, lengths(trace),
                     tuple(_feed_forward(block).hidden[-1] for block in trace.blocks), word)


@dataclass(frozen=True, eq=False)
class Story:
    """One pass, seen from its last token."""

    card: Card                        # of the model
    tokens: Tokens                    # pieces and ids
    embedded: np.ndarray              # (T, d_model): rows of the table, scaled as in the model
    placed: np.ndarray                # (T, d_model): the first block's input, including positions that are added
    rows: np.ndarray                  # (layer, head, T): the last token's weights; each row sums to 1
    lengths: "Lengths"
    hidden: tuple[np.ndarray, ...]    # by layer, (d_ff): the last token's activations before W_2
    word: NextWord

    @property
    def positions_added(self) -> bool:
        """Whether a position vector is added before the first block; otherwise positions act inside attention."""
        return not np.array_equal(self.embedded, self.placed)

    @property
    def probabilities(self) -> np.ndarray:
        """The softmax of all logits, float64 (vocabulary)."""
        powers = np.exp(self.word.logits.astype(np.float64) - float(self.word.logits.max()))
        return powers / powers.sum()


@dataclass(frozen=True)
class Lengths:
    """Euclidean lengths of the last token's vectors, one per layer."""

    before: tuple[float, ...]         # the residual stream entering the layer
    attention: tuple[float, ...]      # what attention adds
    feed_forward: tuple[float, ...]   # what the feed-forward layer adds
    after: tuple[float, ...]          # the residual stream leaving the layer


def lengths(trace: Trace) -> Lengths:
    """Return the lengths of the last token's vectors by layer."""
    parts = [(block.before, block.attentions[0].output, _feed_forward(block).output, block.after)
             for block in trace.blocks]
    return Lengths(*(tuple(float(np.linalg.norm(rows[-1].astype(np.float64))) for rows in each)
                     for each in zip(*parts, strict=True)))


def _feed_forward(block: Block) -> FeedForwardTrace:
    assert block.feed_forward is not None   # checked before
    return block.feed_forward


def looks_back(rows: np.ndarray) -> np.ndarray:
    """Return (layer, head): the largest weight on a token after the first, where many heads rest, and before the last
    token's neighbour; 0 if there is none."""
    between = rows[:, :, 1:-2]
    return between.max(-1) if between.shape[-1] else np.zeros(rows.shape[:2], np.float32)


def clearest_head(rows: np.ndarray) -> HeadId:
    """Return (layer, head) of the head with the largest weight on one token, as measured by `looks_back`."""
    layer, head = np.unravel_index(int(np.argmax(looks_back(rows))), rows.shape[:2])
    return int(layer), int(head)


def strongest_share(values: np.ndarray, share: float = 0.1) -> tuple[int, float]:
    """Return (count, their share): the part of the sum of absolute values held by the strongest `share` of all
    neurons."""
    sizes = np.sort(np.abs(values.astype(np.float64)))[::-1]
    count = max(1, round(len(sizes) * share))
    return count, float(sizes[:count].sum() / max(sizes.sum(), np.finfo(float).tiny))
