"""Follow one pass of a decoder stage by stage, from a text to its next word, at the last token.

All numbers are taken from the record, trace and answer of one pass, without fitting or rounding. Vectors are rows;
layers and heads count from 0. T is the number of tokens.
"""

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import Models
from clearhead.model.core.query import HeadId, Kind, Progress, Query, UserError, frozen, with_arrays
from clearhead.model.core.record import Card
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Block, FeedForwardTrace, Trace
from clearhead.model.studies.predictions import NextWord, NextWordQuery, distribution


@frozen
class StoryQuery:
    """What does a decoder compute on the way from a text to its next word?"""

    query: Query

    def answer(self, models: Models, report: Progress) -> "Story":
        """Compute every stage. Raises NoNextWord for a model that is not a decoder, and UserError for one that cannot
        be traced."""
        word = NextWordQuery(self.query).answer(models, report)
        record, trace = models.record(self.query, report), models.trace(self.query, report).plain()
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


@frozen
class ShippedStoryQuery:
    """The same question about a plain text, whose answer is shipped for those who do not have the model."""

    model: str
    revision: str
    text: str

    def answer(self, models: Models, report: Progress) -> "Story":
        """Compute every stage."""
        return StoryQuery(Query(self.model, self.revision, self.text)).answer(models, report)


@with_arrays
class Story:
    """The stages of one pass at the last token."""

    card: Card                        # card of the model
    tokens: Tokens                    # tokens and ids
    embedded: np.ndarray              # embeddings with the model's scale (T, d_model)
    placed: np.ndarray                # input of the first block, with any position vectors (T, d_model)
    rows: np.ndarray                  # weights of the last token; each row sums to 1 (layer, head, T)
    lengths: "Lengths"
    hidden: tuple[np.ndarray, ...]    # activations of the last token before W_2, (d_ff) per layer
    word: NextWord

    @property
    def positions_added(self) -> bool:
        """Whether position vectors are added before the first block. Otherwise, attention uses positions."""
        return not np.array_equal(self.embedded, self.placed)

    @property
    def probabilities(self) -> np.ndarray:
        """Softmax of all logits, float64 (vocabulary)."""
        return distribution(self.word.logits)


@frozen
class Lengths:
    """Euclidean lengths of the last token's vectors, one per layer."""

    before: tuple[float, ...]         # residual stream before the layer
    attention: tuple[float, ...]      # what attention adds
    feed_forward: tuple[float, ...]   # what the feed-forward layer adds
    after: tuple[float, ...]          # residual stream after the layer


def lengths(trace: Trace) -> Lengths:
    """Measure the lengths of the last token's vectors in every layer."""
    parts = [(block.before, block.sum_at(block.attentions[0])[1], block.fed_forward, block.after)
             for block in trace.blocks]
    return Lengths(*(tuple(float(np.linalg.norm(rows[-1].astype(np.float64))) for rows in each)
                     for each in zip(*parts, strict=True)))


def _feed_forward(block: Block) -> FeedForwardTrace:
    assert block.feed_forward is not None   # checked before
    return block.feed_forward


def looks_back(rows: np.ndarray) -> np.ndarray:
    """Return the largest weight on a token that is neither the first, which many heads use as a sink, nor one of the
    last two, (layer, head); 0 if there is no such token."""
    between = rows[:, :, 1:-2]
    return between.max(-1) if between.shape[-1] else np.zeros(rows.shape[:2], np.float32)


def clearest_head(rows: np.ndarray) -> HeadId:
    """Return the (layer, head) with the largest value of `looks_back`."""
    layer, head = np.unravel_index(int(np.argmax(looks_back(rows))), rows.shape[:2])
    return int(layer), int(head)


STRONGEST = 0.1   # share of the neurons


def strongest_share(values: np.ndarray) -> tuple[int, float]:
    """Return the number of neurons among the STRONGEST, and their share of the sum of absolute values."""
    sizes = np.sort(np.abs(values.astype(np.float64)))[::-1]
    count = max(1, round(len(sizes) * STRONGEST))
    return count, float(sizes[:count].sum() / max(sizes.sum(), np.finfo(float).tiny))
