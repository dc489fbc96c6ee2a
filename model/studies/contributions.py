"""Measure what components write: a head's vector in the residual stream, and every component's contribution to a logit
(direct logit attribution), to the cosine of two sentence vectors, and layer by layer (logit lens).

Every answer is a sum over the writers of `model.studies.circuits`, with all scales frozen at their values in this pass.
A masked-word model's activation before the unembedding is frozen too, at its ratio of output to input.
"""
from typing import TYPE_CHECKING

import numpy as np

from model.core.attention import softmax
from model.core.heads import ranked_frame
from model.core.models import MapQuestion, Models, OpenModel, Trace, same_numbers
from model.core.query import (
    Kind,
    Progress,
    Query,
    UserError,
    batches,
    frozen,
    head_label,
    isolated,
    quoted,
    with_arrays,
)
from model.core.record import AttentionRecord, number_of
from model.core.statistics import entropy
from model.studies.circuits import BEFORE, BIAS, REST, Stream, Walk

if TYPE_CHECKING:
    from pandas import DataFrame

LENS_TOKENS = 5      # number of best tokens per layer of the logit lens
MOVED_TOKENS = 6     # number of tokens that a head promotes most, and that it demotes most
NAMED = 20           # tokens or classes named in an error
BATCH = 16           # tokens whose contributions are in memory at once
NO_LOGITS = ("This model predicts no tokens, or computes their logits in a way that cannot be split by what wrote them;"
             " choose a decoder such as SmolLM2.")


@frozen
class AddsQuery(MapQuestion):
    """What does one head add to the residual stream at one position?"""

    layer: int
    head: int
    position: int

    def answer(self, models: Models, report: Progress) -> "Adds":
        """Measure the vector's length, its share of the stream and its effect on logits. Raises UserError if the model
        cannot be traced."""
        record, trace = models.record(self.query, report), models.trace(self.query, report)
        name_of = models.open(self.query, report).vocabulary.name
        wanted, attention = trace.find(self.kind, self.layer)
        walk = Walk(record, trace, self.kind, [self.position])
        stream = next(entering for block, entering in walk if block is wanted)
        for step, after in walk.through(wanted, stream):
            if step.attention is not None and wanted.attentions[step.attention] is attention:
                break
            stream = after
        added = walk.added(step, attention)
        whole, own = stream.scaled(step.scale, walk.tokens).total[0] + added.total[0], added.parts[self.head, 0]
        promoted: tuple[tuple[str, float], ...] = ()
        demoted = promoted
        if trace.unembedding is not None and trace.blocks[-1].kind is walk.stack:
            last = last_stream(record, trace, self.position)
            name = ("cross " if self.kind is Kind.CROSS else "") + head_label(self.layer, self.head)
            changes = trace.unembedding.weight @ last.parts[last.names.index(name), 0] * trace.unembedding.scale
            ranked, changes = np.argsort(-changes, kind="stable").tolist(), changes - changes.mean()
            promoted, demoted = (tuple((name_of(number), float(changes[number])) for number in numbers)
                                 for numbers in (ranked[:MOVED_TOKENS], ranked[:-MOVED_TOKENS - 1:-1]))
        return Adds(float(np.linalg.norm(own)), float(np.linalg.norm(whole)), float(own @ whole / (whole @ whole)),
                    promoted, demoted)


@frozen
class Adds:
    """The vector that a head adds at one position, compared with the residual stream."""

    length: float                             # length of the vector
    stream: float                             # length of the residual stream after this attention layer
    share: float                              # projection on the stream, relative to it; all writers' shares sum to 1
    # tokens with the largest change in logit, relative to the mean over the vocabulary, because a constant added to all
    # logits changes no probability; () without an unembedding
    promoted: tuple[tuple[str, float], ...]
    demoted: tuple[tuple[str, float], ...]    # tokens with the smallest (most negative) change in logit


@frozen
class WritesQuery:
    """What does each component add to a logit, or to the difference of two logits, at one position?"""

    query: Query
    position: int
    token: int | str                 # the token whose logit is decomposed, as a string or id
    rival: int | str | None = None   # the token whose logit is subtracted, if any

    def answer(self, models: Models, report: Progress) -> "Writes":
        """Decompose the logit. Raises UserError if the logits are not a linear function of the final vectors."""
        record, trace = models.record(self.query, report), models.trace(self.query, report)
        opened = models.open(self.query, report)
        if trace.unembedding is None:
            raise UserError(NO_LOGITS)
        count = len(trace.unembedding.weight)
        ids = [token_id(opened, self.token, count)]
        ids += [] if self.rival is None else [token_id(opened, self.rival, count)]
        found = writes(record, trace, self.position, ids)
        logits = opened.run(opened.tokens(self.query), self.query.edits, every=True).outputs()[0, self.position]
        rival = float(logits[ids[1]]) if len(ids) > 1 else 0.0
        return Writes(tuple(map(opened.vocabulary.name, ids)), float(logits[ids[0]]) - rival, *found)


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
        tokens = [0] if models.open(self.query, report).vector_of == "first" else range(len(own.maps[0].queries))
        values: dict[str, float] = {}
        pooled = np.zeros_like(first)
        for some in batches(list(tokens), BATCH, report, "token"):
            stream = final_stream(own, trace, some)
            parts = stream.parts.sum(1) / len(tokens)
            pooled += parts.sum(0)
            for name, value in zip(stream.names, parts @ second, strict=True):
                values[name] = values.get(name, 0.0) + float(value)
        length = float(np.linalg.norm(pooled))
        if not same_numbers(pooled / length, first):
            raise UserError(f"Clearhead does not know how {own.card.title} computes its sentence vector, so the cosine "
                            f"cannot be split; choose a model such as MiniLM.")
        return Writes((self.query.text, self.other.text), float(first @ second),
                      *_by_writer(own, trace, {name: value / length for name, value in values.items()}))


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
    rest: float                 # remainder that no writer accounts for
    others: float = 0.0         # layers without softmax attention, with the embedding if they come first

    def __repr__(self) -> str:
        most = self.frame().iloc[0]
        return (f"<Writes: {self.difference:.4f}, parts that sum to {self.total:.4f}; largest head "
                f"{most.layer:.0f}·{most['head']:.0f} {most.value:+.4f}>")

    @property
    def total(self) -> float:
        """The sum of all contributions, equal to `difference` up to rounding."""
        return float(self.embedding + self.heads.sum() + self.cross.sum() + self.feed_forward.sum() + self.bias
                     + self.rest + self.others)

    def frame(self) -> "DataFrame":
        """Return one row per head with layer, head and value, sorted by absolute value in descending order."""
        layers, heads = np.indices(self.heads.shape)
        return ranked_frame({"layer": np.take(self.layers, layers.ravel()), "head": heads.ravel(),
                             "value": self.heads.ravel()}, "value")


def final_stream(record: AttentionRecord, trace: Trace, tokens: list[int]) -> Stream:
    """Return the contributions to the final vectors at these tokens, after the last norm."""
    kind = trace.blocks[-1].kind
    stream, (block, norm) = Walk(record, trace, kind, tokens).whole(), trace.last(kind)
    if not same_numbers(stream.total, block.after[tokens]):
        stream = stream.add(REST, block.after[tokens] - stream.total)
    return stream.through(norm, np.array(tokens))


def last_stream(record: AttentionRecord, trace: Trace, position: int) -> Stream:
    """Return the contributions to the unembedding's input at one position. Raises UserError without an unembedding."""
    if trace.unembedding is None:
        raise UserError(NO_LOGITS)
    stream, transform = final_stream(record, trace, [position]), trace.transform
    if transform is None:
        return stream
    stream = Stream(stream.names, stream.parts @ transform.weight).add(BIAS, transform.bias)
    return Stream(stream.names, stream.parts * transform.slope[position]).through(transform.norm, np.array([position]))


Parts = tuple[float, tuple[int, ...], np.ndarray, np.ndarray, np.ndarray, float, float, float]


def writes(record: AttentionRecord, trace: Trace, position: int, ids: list[int]) -> Parts:
    """Return the contributions to the logit of ids[0], minus that of ids[1] if given, in the order of `Writes`."""
    stream, unembedding = last_stream(record, trace, position), trace.unembedding
    assert unembedding is not None   # checked by last_stream
    signs = np.array([1.0, -1.0])[:len(ids)]
    direction = signs @ unembedding.weight[ids] * unembedding.scale
    values = dict(zip(stream.names, (stream.parts[:, 0] @ direction).tolist(), strict=True))
    if unembedding.bias is not None:
        values[BIAS] = values.get(BIAS, 0.0) + float(signs @ unembedding.bias[ids])
    return _by_writer(record, trace, values)


def _by_writer(record: AttentionRecord, trace: Trace, values: dict[str, float]) -> Parts:
    """Sort the writers' contributions by the fields of `Writes` after `difference`."""
    kind = trace.blocks[-1].kind
    grids = [np.array([[values.pop(prefix + head_label(layer.index, head)) for head in range(layer.heads)]
                       for layer in record[each].layers]) if each in record.kinds else np.zeros((0, 0))
             for each, prefix in ((kind, ""), (Kind.CROSS, "cross "))]
    layers = tuple(block.index for block in trace.blocks if block.kind is kind)
    feed_forward = np.array([values.pop(f"mlp {layer}", 0.0) for layer in layers])
    bias, rest = values.pop(BIAS, 0.0), values.pop(REST, 0.0)
    others = sum(values.pop(name) for name in [*values] if name.startswith(BEFORE))
    return sum(values.values()), layers, grids[0], grids[1], feed_forward, bias, rest, others


@frozen
class LensQuery:
    """What would the model predict if the stream after each block were unembedded directly, at one position?"""

    query: Query
    position: int

    def answer(self, models: Models, report: Progress) -> "Lens":
        """Compute the logit lens, with the final norm's scale recomputed for every block. Raises UserError if the
        logits are not a linear function of the final vectors."""
        trace, name_of = models.trace(self.query, report), models.open(self.query, report).vocabulary.name
        if trace.unembedding is None:
            raise UserError(NO_LOGITS)
        kind = trace.blocks[-1].kind
        blocks, (_, norm) = [block for block in trace.blocks if block.kind is kind], trace.last(kind)
        vectors = np.stack([blocks[0].before[self.position], *(block.after[self.position] for block in blocks)])
        vectors = vectors if norm is None else norm.apply(vectors)
        logits = trace.unembedding.logits(vectors if trace.transform is None else trace.transform.apply(vectors))
        chances = softmax(logits)
        best = np.argsort(-logits, axis=-1, kind="stable")[:, :LENS_TOKENS]
        final = chances[-1]
        ratio = np.log2(np.maximum(final, 1e-300)) - np.log2(np.maximum(chances, 1e-300))
        return Lens((-1, *(block.index for block in blocks)), tuple(map(tuple, best.tolist())),
                    tuple(tuple(name_of(number) for number in row) for row in best.tolist()),
                    tuple(tuple(np.take(row, ids).tolist()) for row, ids in zip(chances, best, strict=True)),
                    entropy(chances, base=2), np.maximum((final * ratio).sum(-1), 0))


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
    if len(ids) == 1 and ids[0] < count:
        return ids[0]
    number, kinds = number_of(wanted), "classes" if opened.task == "label" else "tokens"
    if number is not None and 0 <= number < count:
        return number
    if number is not None:
        raise UserError(f"There is no id {number:,}, as {opened.card.title} answers with {count:,} {kinds}; choose an "
                        f"id from 0 to {count - 1:,}.")
    said, names = isolated(quoted(str(wanted))), []
    for each in range(min(count, NAMED)) if kinds == "classes" else ids[:NAMED]:
        names.append(isolated(repr(opened.vocabulary.name(each).replace("␣", " "))))
    if kinds == "classes":
        raise UserError(f"{said} is no class of {opened.card.title}; choose one of: {', '.join(names)}.")
    if not ids:
        raise UserError(f"{said} is not in the vocabulary of {opened.card.title}; choose another text, or give an id.")
    raise UserError(f"{said} is {len(ids)} tokens here: {', '.join(names)}{', …' * (len(ids) > NAMED)}; choose one of "
                    f"them, or give its id ({', '.join(map(str, ids[:NAMED]))}).")
