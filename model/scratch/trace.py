"""The trace of a model of ours, from the probes of the pass that answers the query."""
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from model.core.models import LastVectorsQuery
from model.core.query import Kind, Query, UserError
from model.core.record import AttentionRecord
from model.core.trace import AttentionTrace, Block, Embedded, FeedForwardTrace, LastVectors, Norm, Projection, Trace
from model.core.types import Progress
from model.scratch import positions
from model.scratch.edits import attentions
from model.scratch.probe import capture
from model.scratch.reader import Reader
from model.scratch.transformer import (
    AddAndNorm,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Transformer,
)


def trace(model: Reader, query: Query, report: Progress) -> Trace:
    """The trace of the pass that answers the query. Edits that change a head's mix of values are in it."""
    transformer = model.transformer
    with torch.inference_mode(), capture(transformer) as seen:
        record = model.record(query, report)
        blocks, memory = [], None
        embedded = [_patches(transformer, record)] if transformer.config.patch else \
            [_embedded(transformer, record[kind].queries.ids, kind) for kind in (Kind.SELF, Kind.CAUSAL)
             if kind in record.kinds]
        streams = {start.kind: torch.tensor(start.output) for start in embedded}
        for (kind, index), _ in attentions(transformer).items():
            if kind is Kind.CROSS or kind not in streams:
                continue
            path = f"{'encoder' if kind is Kind.SELF else 'decoder'}.layers.{index}"
            blocks.append(_block(transformer, path, kind, index, streams[kind],
                                 memory if kind is Kind.CAUSAL else None, seen))
            streams[kind] = torch.tensor(blocks[-1].after)
            if kind is Kind.SELF and index == transformer.config.encoder_layers - 1:
                memory = transformer.encoder.norm(streams[kind])
    return Trace(record.query, tuple(embedded), tuple(blocks))


def last_vectors(model: Reader, question: LastVectorsQuery, report: Progress) -> LastVectors:
    """What the last block of one kind puts out. Raises UserError for a kind that the model, or this question's pass,
    has not."""
    config, encoder = model.transformer.config, question.kind is Kind.SELF
    layers = config.encoder_layers if encoder else config.decoder_layers
    sides, _, _ = model.sides(question.query)
    _, seen = model.run(question.query, sides, report)
    vectors = seen.get(f"{'encoder' if encoder else 'decoder'}.layers.{layers - 1}.after_feed_forward.residual")
    if vectors is None or question.kind is Kind.CROSS:
        raise UserError(f"{model.card.title} has no block of {question.kind} attention here; choose another kind or "
                        f"give a target.")
    return LastVectors(_array(vectors))


def _embedded(model: Transformer, ids: tuple[int, ...], kind: Kind) -> Embedded:
    """Section 3.4 and 3.5: embedding times √d_model, plus a vector of the position where the scheme adds one."""
    tokens = model.embedding.table(torch.tensor([ids])) * model.embedding.scale
    output = model.embedding.positions(tokens)
    parts = [("token", _array(tokens))]
    if model.config.positions in positions.ADDED:
        parts.append(("position", _array(output - tokens)))
    learned = model.embedding.positions.table.numpy() if isinstance(model.embedding.positions,
                                                                    positions.Learned) else None
    return Embedded(kind, tuple(parts), None, _array(output), learned)


def _patches(model: Transformer, record: AttentionRecord) -> Embedded:
    """[CLS] and the patches through their linear map, plus a vector of the place."""
    from model.scratch.tasks.marked_digit import ink

    assert record.picture is not None
    tokens = model.embedding.tokens(ink(record.picture[None, ..., 0]))
    output = model.embedding.positions(tokens)
    return Embedded(Kind.SELF, (("patch", _array(tokens)), ("position", _array(output - tokens))), None,
                    _array(output), model.embedding.positions.table.numpy())


def _block(model: Transformer, path: str, kind: Kind, index: int, x: Tensor, memory: Tensor | None,
           seen: dict) -> Block:
    layer = cast(EncoderLayer | DecoderLayer, model.get_submodule(path))
    norms: list[Norm] = []
    before, attention_traces = _array(x), []
    sides = [(kind, "attention", None)] + ([(Kind.CROSS, "cross", memory)]
                                           if memory is not None and getattr(layer, "has_cross", False) else [])
    for attention_kind, name, source in sides:
        around = getattr(layer, f"after_{name}")
        given = _given(around, x)
        attention = _attention(model, getattr(layer, name), (attention_kind, index), given,
                               given if source is None else source, seen[f"{path}.{name}.mixed"])
        x = _sum(around, x, torch.tensor(attention.output), f"after_{name}", norms)
        attention_traces.append(attention)
    around, given = layer.after_feed_forward, _given(layer.after_feed_forward, x)
    inner = _feed_forward(model, layer.feed_forward, given)
    x = _sum(around, x, torch.tensor(inner.output), "after_feed_forward", norms)
    return Block(kind, index, before, _array(x), tuple(attention_traces), tuple(norms), model.config.norm_first, inner)


def _given(around: AddAndNorm, x: Tensor) -> Tensor:
    """What the sub-layer reads: the stream as it is (post-LN), or normalised (pre-LN)."""
    return around.norm(x) if around.norm_first else x


def _sum(around: AddAndNorm, x: Tensor, output: Tensor, name: str, norms: list[Norm]) -> Tensor:
    """Add & Norm; notes the norm with what it read."""
    total = x + output
    read = x if around.norm_first else total
    norm: nn.LayerNorm = around.norm
    norms.append(Norm(name, "layer", _array(read), _array(norm(read)), norm.weight.numpy(), norm.bias.numpy(),
                      norm.eps))
    return total if around.norm_first else norm(total)


def _attention(model: Transformer, attention: MultiHeadAttention, place: tuple[Kind, int], x: Tensor, memory: Tensor,
               mixed: Tensor) -> AttentionTrace:
    heads, d_model, (kind, index) = model.config.heads, model.config.d_model, place
    parts = []
    for linear in (attention.w_query, attention.w_key, attention.w_value):
        parts.append(Projection(linear.weight.numpy().reshape(heads, -1, d_model).swapaxes(1, 2),
                                linear.bias.numpy().reshape(heads, -1)))
    output = attention.w_output(mixed[0].transpose(0, 1).flatten(1))
    turned = range(d_model // heads // 2) if isinstance(attention.inside, positions.Rotary) else ()
    return AttentionTrace(kind, index, _array(x), _array(memory), parts[0], parts[1], parts[2],
                          attention.w_output.weight.numpy().T.reshape(heads, -1, d_model),
                          attention.w_output.bias.numpy(), _array(output),
                          tuple((2 * pair, 2 * pair + 1) for pair in turned))


def _feed_forward(model: Transformer, layer: FeedForward, x: Tensor) -> FeedForwardTrace:
    before = layer.w_1(x)
    active = _array(layer.activation(before))
    return FeedForwardTrace({"relu": "ReLU", "gelu": "GELU"}[model.config.activation], _array(before), active, active,
                            _array(layer.w_2(torch.tensor(active))))


def _array(tensor: Tensor) -> np.ndarray:
    """float32 (t, d) without the batch."""
    return tensor.detach().reshape(-1, tensor.shape[-1]).numpy()
