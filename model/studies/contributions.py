"""Measure what components write: a head's vector in the residual stream, and every component's contribution to a logit
(direct logit attribution), to the cosine of two sentence vectors, and layer by layer (logit lens).

Every answer is a sum over the writers of `model.studies.circuits`, with all scales frozen at their values in this pass.
What is not linear between the final vectors and the logits is frozen too, at its ratio of output to input: the
activation of a masked-word model or a classifier, and a soft cap of the logits.
"""
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core.attention import softmax
from clearhead.model.core.heads import ranked_frame
from clearhead.model.core.models import MapQuestion, Models, OpenModel
from clearhead.model.core.query import (
    Kind,
    Progress,
    Query,
    UserError,
    batches,
    frozen,
    isolated,
    quiet,
    quoted,
    with_arrays,
)
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.statistics import entropy
from clearhead.model.core.tokens import number_of
from clearhead.model.core.traces import Trace, same_numbers
from clearhead.model.studies.circuits import AFTER, BEFORE, BIAS, ResidualStream, Walk, writer

if TYPE_CHECKING:
    from pandas import DataFrame

LENS_TOKENS = 5      # number of best tokens per layer of the logit lens
MOVED_TOKENS = 6     # number of tokens that a head promotes most, and that it demotes most
NAMED = 20           # tokens or classes named in an error
BATCH = 16           # tokens whose contributions are in memory at once
UNEXPLAINED = 2e-3   # of the largest head: a larger rest is mentioned
NO_LOGITS = ("This model predicts no tokens or classes, or computes their logits in a way that cannot be split by what "
             "wrote them; choose a decoder such as SmolLM2.")


@frozen
class AddsQuery(MapQuestion):
    """What does one head add to the residual stream at one position?"""

    layer: int
    head: int
    position: int

    def answer(self, models: Models, report: Progress) -> "Adds":
        """Measure the vector's length, its share of the stream and its effect on logits. Raises UserError if the model
        cannot be traced."""
        record, trace = models.record(self.query, report), models.trace(self.query, report, (self.position,))
        name_of = models.open(self.query, report).vocabulary.name
        wanted, attention = trace.find(self.kind, self.layer)
        walk = Walk(record, trace, self.kind, [self.position])
        number = wanted.attentions.index(attention)
        stream, step = next((stream, step) for (*_, stream), (block, step, _) in pairwise(walk)
                            if block is wanted and step is not None and step.attention == number)
        added = walk.added(step, attention)
        whole, own = stream.scaled(step.scale).total[0] + added.total[0], added.parts[self.head, 0]
        promoted: tuple[tuple[str, float], ...] = ()
        demoted = promoted
        if trace.unembedding is not None and trace.blocks[-1].kind is walk.stack:
            last = last_stream(record, trace, self.position)
            own_writes = last.parts[last.names.index(writer(self.kind, self.layer, self.head))]
            changes, = trace.unembedding.shares(own_writes, last.total[0])
            ranked, changes = np.argsort(-changes, kind="stable").tolist(), changes - changes.mean()
            promoted, demoted = (
                tuple((name_of(number), float(changes[number])) for number in numbers if sign * changes[number] > 0)
                for sign, numbers in ((1, ranked[:MOVED_TOKENS]), (-1, ranked[:-MOVED_TOKENS - 1:-1])))
        return Adds(float(np.linalg.norm(own)), float(np.linalg.norm(whole)), float(own @ whole / (whole @ whole)),
                    promoted, demoted)


@frozen
class Adds:
    """The vector that a head adds at one position, compared with the residual stream."""

    length: float                             # length of the vector
    stream: float                             # length of the residual stream after this attention layer
    share: float                              # projection on the stream, relative to it; all writers' shares sum to 1
    # tokens or classes with the largest change in logit, relative to the mean over all, because a constant added to all
    # logits changes no probability; () without an unembedding
    promoted: tuple[tuple[str, float], ...]
    demoted: tuple[tuple[str, float], ...]    # tokens with the smallest (most negative) change in logit


@frozen
class WritesQuery:
    """What does each component add to a logit, or to the difference of two logits, at one position? In a classifier,
    which has one logit for each class, the position is ignored."""

    query: Query
    position: int
    token: int | str                 # the token or class whose logit is decomposed, as a string or id
    rival: int | str | None = None   # the token or class whose logit is subtracted, if any

    def answer(self, models: Models, report: Progress) -> "Writes":
        """Decompose the logit. Raises UserError if it is not computed from the final vectors in a known way."""
        record, trace = models.record(self.query, report), models.trace(self.query, report, (self.position,))
        opened, unembedding = models.open(self.query, report), trace.unembedding
        if unembedding is None:
            raise UserError(NO_LOGITS)
        count = len(unembedding.weight)
        ids = [token_id(opened, each, count) for each in (self.token, self.rival) if each is not None]
        done = opened.run(opened.tokens(self.query), self.query.edits, position=self.position)
        if trace.pool is None:
            outputs = done.outputs()[0]
            logits = outputs[min(self.position, len(outputs) - 1)].numpy()   # a decoder may compute those alone
        else:
            logits = done.answer(0).numbers[0]
        stream, signs = last_stream(record, trace, self.position), np.array([1.0, -1.0])[:len(ids)]
        values = dict(zip(stream.names, unembedding.shares(stream.parts[:, 0], stream.total[0], ids) @ signs,
                          strict=True))
        if unembedding.bias is not None:
            values[BIAS] = values.get(BIAS, 0.0) + float(signs @ unembedding.bias[ids])
        return _writes(tuple(map(opened.vocabulary.name, ids)), float(logits[ids].astype(np.float64) @ signs), record,
                       trace, values)


@frozen
class CosineQuery:
    """What does each component add to the cosine of two texts' vectors? The other text's vector and the length of this
    one are frozen."""

    query: Query
    other: Query

    def answer(self, models: Models, report: Progress) -> "Writes":
        """Decompose the cosine. Raises UserError for a model that does not answer with a sentence vector."""
        own, other = (models.record(each, report) for each in (self.query, self.other))
        if self.query.model != self.other.model:
            raise UserError("Different models read the two texts, so their vectors have no cosine; use one for both.")
        first, second = _sentence_vector(own), _sentence_vector(other)
        trace = models.trace(self.query, report)
        weights = np.ones((1, len(own.maps[0].queries)))
        if models.open(self.query, report).vector_of == "first":
            weights[:, 1:] = 0
        stream = pooled_stream(own, trace, weights / weights.sum(), report)
        pooled = stream.total[0]
        length = float(np.linalg.norm(pooled))
        if not same_numbers(pooled / length, first):
            raise UserError(f"Clearhead does not know how {own.card.title} computes its sentence vector, so the cosine "
                            f"cannot be split; choose a model such as MiniLM.")
        return _writes((self.query.text, self.other.text), float(first @ second), own, trace,
                       dict(zip(stream.names, stream.parts[:, 0] @ second / length, strict=True)))


def _sentence_vector(record: AttentionRecord) -> np.ndarray:
    """Return the record's sentence vector at length 1, float64 (d_model). Raises UserError if it has none."""
    vector = None if record.prediction is None else record.prediction.vector
    if vector is None:
        raise UserError(f"{record.card.title} does not answer with a sentence vector, so there is no cosine to split; "
                        f"choose a model such as MiniLM.")
    return np.asarray(vector / np.linalg.norm(vector), np.float64)


@with_arrays
class Writes:
    """Direct attribution: each writer's contribution to a logit, a logit difference or a cosine."""

    tokens: tuple[str, ...]     # the answer and its rival, in the vocabulary's spelling; for a cosine, the two texts
    difference: float           # the logit, difference or cosine computed by the model
    embedding: float            # token, position and segment embeddings together
    layers: tuple[int, ...]     # the layers' numbers in the model, in the order of the arrays
    heads: np.ndarray           # float64 (layer, head)
    cross: np.ndarray           # cross-attention heads, float64 (layer, head); (0, 0) if there are none
    feed_forward: np.ndarray    # float64 (layer)
    bias: float                 # biases of all projections, norms and the unembedding
    others: float               # layers without softmax attention, with the embedding if they come first
    kind: Kind                  # of the attention of `heads`
    counts: dict[tuple[Kind, int], int]   # heads by kind and layer; the arrays are padded with 0

    def __repr__(self) -> str:
        most = self.frame().iloc[0]
        name = writer(most.map, most.layer, most["head"])
        rest = f"; {self.rest:+.4f} is not explained" if abs(self.rest) > UNEXPLAINED * abs(most.value) else ""
        return (f"<Writes: {self.difference:.4f}, parts that sum to {self.total:.4f}; largest head {name} "
                f"{most.value:+.4f}{rest}>")

    @property
    def total(self) -> float:
        """The sum of all contributions, equal to `difference` up to rounding."""
        return float(self.embedding + self.heads.sum() + self.cross.sum() + self.feed_forward.sum() + self.bias
                     + self.others)

    @property
    def rest(self) -> float:
        """The part of `difference` that no contribution accounts for. Each of them is measured, so this checks them."""
        return self.difference - self.total

    def frame(self) -> "DataFrame":
        """Return one row per head with map (the kind of its attention), layer, head and value, sorted by absolute value
        in descending order."""
        rows = [(str(kind), self.layers[layer], head, value) for kind, grid in ((self.kind, self.heads),
                (Kind.CROSS, self.cross)) for (layer, head), value in np.ndenumerate(grid)
                if head < self.counts.get((kind, self.layers[layer]), 0)]
        return ranked_frame(dict(zip(("map", "layer", "head", "value"), zip(*rows, strict=True), strict=True)), "value")


def final_stream(record: AttentionRecord, trace: Trace, tokens: list[int]) -> ResidualStream:
    """Return the contributions to the final vectors at these tokens, after the last norm."""
    kind = trace.blocks[-1].kind
    walk = Walk(record, trace, kind, tokens)
    return walk.whole().through(trace.last(kind)[2], walk.rows)


def pooled_stream(record: AttentionRecord, trace: Trace, weights: np.ndarray,
                  report: Progress = quiet) -> ResidualStream:
    """Return the contributions to sums of final vectors with these weights (part, t), joined to one vector: parts
    (writer, 1, part · d_model)."""
    found = ResidualStream((), np.zeros((0, 1, weights.shape[0] * trace.blocks[-1].after.shape[1])))
    for some in batches(np.flatnonzero(weights.any(0)).tolist(), BATCH, report, "token"):
        stream = final_stream(record, trace, some)
        parts = np.einsum("pt,wtd->wpd", weights[:, some], stream.parts)
        found = found.join(ResidualStream(stream.names, parts.reshape(len(parts), 1, -1)))
    return found


def last_stream(record: AttentionRecord, trace: Trace, position: int) -> ResidualStream:
    """Return the contributions to the unembedding's input at one position or, in a classifier, to its only one."""
    row, transform = trace.at(trace.blocks[-1].kind, [position])[0] if trace.pool is None else 0, trace.transform
    stream = (final_stream(record, trace, [position]) if trace.pool is None
              else pooled_stream(record, trace, trace.pool))
    if transform is None:
        return stream
    if transform.weight is not None and transform.slope is not None:
        stream = ResidualStream(stream.names, stream.parts @ transform.weight).add(BIAS, transform.bias)
        stream = stream.scaled(transform.slope[[row]])
    return stream.through(transform.norm, np.array([row]))


def _writes(tokens: tuple[str, ...], difference: float, record: AttentionRecord, trace: Trace,
            values: dict[str, float]) -> Writes:
    """Sort the writers' contributions by the fields of `Writes`."""
    kind = trace.blocks[-1].kind
    layers = tuple(block.index for block in trace.blocks if block.kind is kind)
    counts = {(each.kind, layer.index): layer.heads for each in record.maps for layer in each.layers
              if each.kind in (kind, Kind.CROSS)}
    most = max(counts.values())
    heads, cross = (np.array([[values.pop(writer(each, layer, head), 0.0) for head in range(most)]
                              for layer in layers]) if each in record.kinds else np.zeros((0, 0))
                    for each in (kind, Kind.CROSS))
    feed_forward = np.array([values.pop(f"mlp {layer}", 0.0) for layer in layers])
    bias = values.pop(BIAS, 0.0)
    others = float(sum(values.pop(name) for name in [*values] if name.startswith((AFTER, BEFORE))))
    return Writes(tokens, difference, float(sum(values.values())), layers, heads, cross, feed_forward, float(bias),
                  others, kind, counts)


@frozen
class LensQuery:
    """What would the model predict if the stream after each block were unembedded directly, at one position?"""

    query: Query
    position: int

    def answer(self, models: Models, report: Progress) -> "Lens":
        """Compute the logit lens, with the final norm's scale recomputed for every block. Raises UserError if the
        logits are not a linear function of the final vectors."""
        trace = models.trace(self.query, report, (self.position,))
        name_of = models.open(self.query, report).vocabulary.name
        if trace.unembedding is None:
            raise UserError(NO_LOGITS)
        record = models.record(self.query, report)
        if record.prediction is not None and record.prediction.ids and not record.prediction.log_normaliser:
            raise UserError(f"The classes of {record.card.title} do not exclude each other, so their probabilities are "
                            f"no distribution, which the lens shows; split a class's logit with writes instead.")
        kind = trace.blocks[-1].kind
        blocks = [block for block in trace.blocks if block.kind is kind]
        ends = [] if trace.ending is None else [trace.ending]
        logits = np.stack([trace.readout(each, self.position)
                           for each in (blocks[0].before, *(block.after for block in blocks), *ends)])
        chances = softmax(logits)
        best = np.argsort(-logits, axis=-1, kind="stable")[:, :LENS_TOKENS]
        logs = np.log2(np.maximum(chances, 1e-300))
        others = [number for number, _ in record[kind].others]
        layers = (-1, *(block.index for block in blocks), *[max(others, default=0)] * len(ends))
        return Lens(layers, tuple(map(tuple, best.tolist())),
                    tuple(tuple(map(name_of, row)) for row in best.tolist()),
                    tuple(map(tuple, np.take_along_axis(chances, best, -1).tolist())),
                    entropy(chances, base=2), np.maximum((chances[-1] * (logs[-1] - logs)).sum(-1), 0))


@with_arrays
class Lens:
    """The logit lens (nostalgebraist 2020) at one position, layer by layer; the last row is the model's own answer."""

    layers: tuple[int, ...]                         # index of the block; -1 is the embedding
    ids: tuple[tuple[int, ...], ...]                # ids of the best tokens of each layer
    tokens: tuple[tuple[str, ...], ...]             # names of these tokens
    probabilities: tuple[tuple[float, ...], ...]    # probabilities of these tokens
    entropy: np.ndarray                             # bits, float64 (layer)
    divergence: np.ndarray   # bits, float64 (layer): Kullback–Leibler divergence from the final distribution

    def __repr__(self) -> str:
        return f"<Lens: {len(self.layers)} layers, the last says {self.tokens[-1][0]!r}>"

    def frame(self) -> "DataFrame":
        """Return one row per layer with layer (-1 is the embedding), tokens, probabilities, entropy and divergence."""
        from pandas import DataFrame

        return DataFrame({"layer": self.layers, "tokens": list(map(list, self.tokens)),
                          "probabilities": list(map(list, self.probabilities)), "entropy": self.entropy,
                          "divergence": self.divergence})


def token_id(opened: OpenModel, wanted: object, count: int) -> int:
    """Return the id of an answer among `count`, which is given as docs/api.md says: by its text or its id. Raises
    UserError, naming the tokens, for a text that is not one of them."""
    ids = opened.vocabulary.find(wanted) if isinstance(wanted, str) else []
    number = ids[0] if len(ids) == 1 and ids[0] < count else number_of(wanted)
    kinds = "classes" if opened.task == "label" else "tokens"
    if number is not None and 0 <= number < count:
        return number
    if number is not None:
        raise UserError(f"There is no id {number:,}, as {opened.card.title} answers with {count:,} {kinds}; choose an "
                        f"id from 0 to {count - 1:,}.")
    said = isolated(quoted(str(wanted)))
    names = [isolated(repr(opened.vocabulary.name(each).replace("␣", " ")))
             for each in (range(count) if kinds == "classes" else ids)[:NAMED]]
    if kinds == "classes":
        raise UserError(f"{said} is no class of {opened.card.title}; choose one of: {', '.join(names)}.")
    if not ids:
        raise UserError(f"{said} is not in the vocabulary of {opened.card.title}; choose another text, or give an id.")
    raise UserError(f"{said} is {len(ids)} tokens here: {', '.join(names)}{', …' * (len(ids) > NAMED)}; choose one of "
                    f"them, or give its id ({', '.join(map(str, ids[:NAMED]))}).")
