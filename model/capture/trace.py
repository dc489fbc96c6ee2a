"""Trace a model: hooks record the calls in a pass, and each module is recognised by its inputs and outputs.

No model family is known by name. The value projection is the matrix whose output equals the record's values. Queries
and keys are found by their vectors' lengths, which rotary positions preserve; a norm may come before the rotation. W_O
is the matrix whose input is the heads' outputs, perhaps after a gate. A norm, gate or activation must reproduce its
output. Everything found is therefore verified, and everything else is refused with a reason: an unknown query, key or
value projection only where it is needed.
"""
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from clearhead.model.capture.calls import (
    ModuleCall,
    TooMuch,
    Unfollowed,
    affine_of,
    block_name,
    is_leaf,
    is_linear,
    is_norm,
    numbers,
    watch_calls,
)
from clearhead.model.capture.forward_pass import Slot, sample_rows
from clearhead.model.capture.stream import Passage, Vectors
from clearhead.model.core.query import Kind, Progress, Query, UserError
from clearhead.model.core.record import AttentionRecord, Layer, Prediction
from clearhead.model.core.traces import (
    AttentionOutput,
    AttentionTrace,
    Block,
    Embedded,
    FeedForwardTrace,
    Norm,
    Pairs,
    Projection,
    Trace,
    Transform,
    Unembedding,
    closeness,
)
from clearhead.model.core.traces import same_numbers as close

if TYPE_CHECKING:
    from torch import nn

    from clearhead.model.capture.model import NetworkModel
    from clearhead.model.capture.verify import Wiring


def norm_of(name: str, call: "ModuleCall") -> Norm:
    """Find the normalisation that reproduces a call's output: layer or root-mean-square, with the stored gain or, as in
    Gemma, the gain plus 1. Raises Unfollowed if none does."""
    module = call.module
    stored = [float(getattr(module, name)) for name in ("eps", "variance_epsilon", "epsilon") if hasattr(module, name)]
    weight, bias = (numbers(getattr(module, name, None)) for name in ("weight", "bias"))
    weight = np.ones(call.input.shape[-1], np.float32) if weight is None else weight
    for kind, epsilon, gain in itertools.product(("layer", "rms"), stored[:1] or (1e-6, 1e-5), (weight, 1 + weight)):
        norm = Norm(name, kind, call.input, call.output, gain, bias, epsilon)
        if close(norm.apply(call.input), call.output):
            return norm
    raise Unfollowed(f"its {name} normalises in an unknown way")


def activations() -> dict[str, Callable]:
    """Return the activation functions to try for a feed-forward layer, {name: function of an array}."""
    import torch
    from torch.nn import functional

    def of_array(function: Callable) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: function(torch.tensor(x)).numpy()

    return {name: of_array(function) for name, function in {
        "ReLU": torch.relu, "GELU": functional.gelu, "GELU (tanh)": lambda x: functional.gelu(x, approximate="tanh"),
        "SiLU": functional.silu, "GELU (sigmoid)": lambda x: x * torch.sigmoid(1.702 * x),
        "ReLU squared": lambda x: torch.relu(x).square(), "tanh": torch.tanh}.items()}


def feed_forward(linears: list, d_model: int) -> FeedForwardTrace | None:
    """Find the feed-forward layer among a block's matrix calls outside attention: W_2 is the last one whose output has
    d_model dimensions. Returns None if the layer has another form."""
    down = next((call for call in reversed(linears) if call.output.shape[-1] == d_model), None)
    if down is None:
        return None
    ups = [call for call in linears if call.order < down.order and call.output.shape == down.input.shape]
    for (name, function), gate in itertools.product(activations().items(), ups if len(ups) <= 2 else ()):
        active = function(gate.output)
        others = [call.output for call in ups if call is not gate]
        if close(active * others[0] if others else active, down.input):
            return FeedForwardTrace(name, gate.output, active, down.input if others else active, down.output)
    return None


def pairs_of(before: np.ndarray, after: np.ndarray) -> Pairs:
    """Find which dimensions were rotated together between two versions of vectors (head, t, d): pairs that keep their
    length. Raises Unfollowed if there are none.

    Implementations of Llama pair dimension c with c + d/2, the paper 2c with 2c + 1 (Su et al. 2021). Some models
    rotate only part of d.
    """
    if close(before, after):
        return ()
    size = before.shape[-1]
    for turned in (size, size // 2, size // 4):
        even = np.arange(turned // 2 * 2)
        for pairs in (even.reshape(2, -1).T, even.reshape(-1, 2)):
            one, other = (np.moveaxis(np.linalg.norm(array[..., pairs], axis=-1), -1, 0) for array in (before, after))
            if pairs.size and close(one, other) and close(before[..., turned:], after[..., turned:]):
                return tuple(map(tuple, pairs.tolist()))
    raise Unfollowed("its queries are rotated in an unknown way")


LARGEST = 2**29     # bytes of activations that a trace may hold


def trace(model: "NetworkModel", query: Query, report: Progress, tokens: tuple[int, ...] = (),
          record: AttentionRecord | None = None) -> Trace:
    """Return the trace of the pass that answers the query, with these tokens of each stack and a few others if any are
    given, else with all. record: the query's record, if known, so that no second one is made. Raises UserError if the
    model's structure cannot be followed, or if the activations of all tokens take too much memory."""
    if model.wiring is None:
        raise UserError(f"{model.card.title} only reports its weights, so its layers cannot be traced; choose a "
                        f"verified model.")
    found = _traced(model, model.wiring, query, report, tokens, record)
    if isinstance(found, UserError):   # raised here, because an error keeps its frames' locals alive
        raise found
    return found


def _traced(model: "NetworkModel", wiring: "Wiring", query: Query, report: Progress,
            tokens: tuple[int, ...], record: AttentionRecord | None) -> Trace | UserError:
    title, rows = model.card.title, dict[int, np.ndarray]()
    if tokens and model.task != "label":   # its answer may depend on all tokens
        asked, mask = model.tokens(query), getattr(model.tokenizer, "mask_token_id", None)
        masked = [place for place, number in enumerate(asked.source.ids) if number == mask]
        for length in filter(None, asked.lengths):
            some = {*sample_rows(length).tolist(), *masked, *tokens}   # the first and the last token among them
            rows[length] = np.array(sorted(token for token in some if token < length))
    try:
        names = {slot.module: block_name(slot.module) for slot in wiring.slots.values()}
        with watch_calls(model.network, set(names.values()), rows, float("inf") if rows else LARGEST) as calls:
            if record is None:
                record = model.record(query, report)
            else:
                asked = model.tokens(query)
                model.run(asked, query.edits, report, position=len(asked.continued) - 1)
        arrays = {id(array): array for call in calls.values() for array in (call.input, call.output)}
        return replace(_assemble(record, model, wiring, names, calls, rows),
                       nbytes=sum(array.nbytes for array in arrays.values()))
    except TooMuch:
        return UserError(f"All activations of {title} for this text take more than {LARGEST / 2**20:,.0f} MB; choose "
                        f"a shorter text.")
    except Unfollowed as error:
        return UserError(f"The layers of {title} cannot be traced because {error}; its attention can still be shown.")


def _assemble(record: AttentionRecord, model: "NetworkModel", wiring: "Wiring", names: dict[str, str],
              calls: dict[str, ModuleCall], rows: dict[int, np.ndarray]) -> Trace:
    slots: dict[str, list[Slot]] = {}
    for slot in (slot for slot in wiring.slots.values() if slot.kind in record.kinds):
        slots.setdefault(names[slot.module], []).append(slot)
        if slot.occurrence:
            raise Unfollowed("its layers share one module")
    blocks = tuple(_block(record, name, slots[name], calls, rows)
                   for name in sorted(slots, key=lambda name: calls[name].order))
    ends = {block.kind: block for block in blocks}
    kinds: list[Kind] = [kind for kind in (Kind.SELF, Kind.CAUSAL) if kind in ends]
    lasts = [ends[kind] for kind in kinds]
    within = tuple(f"{name}." for name in slots)
    outside = [call for call in calls.values() if is_leaf(call.module) and not f"{call.name}.".startswith(within)]
    final = tuple(norm for norm in _norms(outside) if any(close(norm.input, block.after) for block in lasts))
    embedded = tuple(_embedded(kind, blocks, outside, model) for kind in kinds)
    read = next((norm.output for norm in final if close(norm.input, lasts[-1].after)), lasts[-1].after)
    said = record.prediction
    if said is not None and said.kind == "label" and len(said.positions) == 1 and (
            found := _classifier(outside, read, said)) is not None:
        return Trace(record.query, embedded, blocks, final, *found)
    held = {kind: rows[len(record[kind].queries)] for kind in kinds} if rows else None
    tokens = np.arange(len(read)) if held is None else held[kinds[-1]]
    _, read, transform = next((each for each in _transforms(outside)
                               if each[2].norm and each[2].weight is not None and close(each[0], read)),
                              (read, read, None))
    unembedding, ending = _unembedding(record, model, read, tokens.tolist()), None
    for norm in reversed(_norms(outside)) if unembedding is None and said is not None and said.ids else ():
        if norm.output.shape == read.shape and (unembedding := _unembedding(record, model, norm.output,
                                                                            tokens.tolist())):
            final, ending, transform = (*final, norm), norm.input, None
            break
    return Trace(record.query, embedded, blocks, final, unembedding, transform, rows=held, ending=ending)


def _norms(calls: list[ModuleCall]) -> list[Norm]:
    """Return the normalisations among the calls, except unknown ones."""
    norms = []
    for call in filter(is_norm, calls):
        with suppress(Unfollowed):
            norms.append(norm_of(call.name, call))
    return norms


def _transforms(calls: list[ModuleCall]) -> Iterator[tuple[np.ndarray, np.ndarray, Transform]]:
    """Yield what may stand between final vectors and logits, with its input and output: a matrix and an activation that
    a norm follows, or a norm alone."""
    norms = _norms(calls)
    for dense, activation in itertools.product(filter(is_linear, calls), activations().values()):
        active = activation(dense.output)
        slope = active / np.where(dense.output == 0, 1, dense.output)
        made = Transform(dense.matrix, dense.bias, slope, None, activation)
        for norm in norms:
            if close(norm.input, active):
                yield dense.input, norm.output, replace(made, norm=norm)
        yield dense.input, active, made
    yield from ((norm.input, norm.output, Transform(None, None, None, norm)) for norm in norms)


def _classifier(calls: list[ModuleCall], read: np.ndarray,
                said: Prediction) -> tuple[Unembedding, Transform | None, np.ndarray] | None:
    """Return how a classifier computes the logits of its classes from the final vectors (t, d_model), or None: the last
    matrix, the layer before it, and the weights of the tokens."""
    wanted, ids = _logits_of(said), list(said.ids[-1])
    for last in (call for call in reversed(calls) if is_linear(call) and call.output.shape[1] > max(ids)):
        for row in (row for row, logits in enumerate(last.output) if close(logits[ids], wanted)):
            vector = last.input[row]
            for before, after, transform in itertools.chain([(vector[None], vector[None], None)], _transforms(calls)):
                if len(before) == 1 and close(after[0], vector) and (pool := _pool(before[0], read)) is not None:
                    return Unembedding(last.matrix.T, last.bias), transform, pool
    return None


def _pool(vector: np.ndarray, read: np.ndarray) -> np.ndarray | None:
    """Return the weights (part, t) of the final vectors (t, d_model) whose sums, joined, are this vector, or None: each
    part is one token, or the mean of all tokens after the first few."""
    if vector.size % read.shape[1]:
        return None
    means = np.tri(len(read)).T
    ways = [*np.eye(len(read)), *(means / means.sum(1, keepdims=True))]
    found = [next((way for way in ways if close(way @ read, part)), None)
             for part in vector.reshape(-1, read.shape[1])]
    return None if any(way is None for way in found) else np.array(found)


def _logits_of(said: Prediction) -> np.ndarray:
    """Return the logits of the candidates at the last position that has an answer, float64 (candidate)."""
    chances = np.clip(said.probabilities[-1], 1e-30, None)
    return np.log(chances) + (said.log_normaliser[-1] if said.log_normaliser else -np.log1p(-chances))


def _unembedding(record: AttentionRecord, model: "NetworkModel", read: np.ndarray,
                 tokens: Sequence[int]) -> Unembedding | None:
    """Return W_U with its bias and scale if these reproduce the record's logits from the vectors before it of these
    tokens (t, d), else None. Without a masked word, a masked-word model has no logits in its record; its scale is
    then 1."""
    module, said = model.network.get_output_embeddings(), record.prediction
    weight = None if module is None else getattr(module, "weight", None)
    if weight is None or weight.ndim != 2 or weight.shape[1] != read.shape[1]:
        return None
    matrix, bias = affine_of(module)
    found = Unembedding(matrix.T, bias)
    if said is None or not said.ids or said.positions[-1] not in tokens:
        return found if model.task == "mask" else None
    ids, wanted, vector = list(said.ids[-1]), _logits_of(said), read[tokens.index(said.positions[-1])]
    config = getattr(model.network.config, "decoder", model.network.config)
    cap = getattr(config, "final_logit_softcapping", None) or getattr(config, "logits_soft_cap", None)
    raw = wanted if not cap else cap * np.arctanh(np.clip(wanted / cap, -1 + 1e-12, 1 - 1e-12))
    # Marian and ESM add a bias outside the module
    apart = [numbers(tensor).reshape(-1) for name, tensor in (*model.network.named_parameters(),
                                                               *model.network.named_buffers())
             if bias is None and name.endswith("bias") and tensor.numel() == len(weight)]
    for added in (bias, *apart):
        found = replace(found, bias=added)
        made = found.logits(vector, ids)
        scale = float(np.divide(*np.cov(made, raw)[0, ::-1]))
        scaled = replace(found, scale=1.0 if abs(scale - 1) < closeness() else scale, softcap=cap or None)
        if close(scaled.logits(vector, ids), wanted):
            return scaled
    return None


def _block(record: AttentionRecord, name: str, slots: list[Slot], calls: dict[str, ModuleCall],
           rows: dict[int, np.ndarray]) -> Block:
    inside = sorted((call for path, call in calls.items() if path.startswith(name + ".")), key=lambda call: call.order)
    leaves = [call for call in inside if is_leaf(call.module)]
    linears = list(filter(is_linear, leaves))
    attentions, orders, used = [], [], set()
    for slot in slots:
        layer = cast(Layer, record[slot.kind].layer(slot.index))
        looking, looked_at = (rows.get(length, slice(0, length)) for length in layer.shape[1:])
        norms_of_heads = [call for call in leaves if is_norm(call) and call.name.startswith(slot.module + ".")]
        mixed = layer.head_outputs(looking).swapaxes(0, 1)
        found = [_attention(slot, (each.query[:, looking], each.key[:, looked_at], each.value[:, looked_at]), mixed,
                            linears, norms_of_heads) for each in (layer, layer.minus) if each is not None]
        attention = next((each for each, *_ in found if not isinstance(each, AttentionTrace)), found[0][0])
        if isinstance(attention, AttentionTrace) and len(found) > 1:
            attention = replace(attention, minus=found[1][0].projected)
        attentions.append(attention)
        orders.append(found[0][1])
        used |= found[0][2]
    within = tuple(slot.module + "." for slot in slots)
    normed = [call for call in leaves if is_norm(call) and not call.name.startswith(within)]
    norms = tuple(norm_of(call.name.removeprefix(name + "."), call) for call in normed)
    block = calls[name]
    computed = {id(call.output) for call in normed}
    read = {id(call.input): Vectors(call.order, call.input) for call in leaves
            if call.input.shape == block.output.shape and id(call.input) not in computed}
    made = {id(call.output): Vectors(call.order, call.output) for call in reversed(inside)
            if call.output.shape == block.output.shape and not call.name.startswith(within)}
    passage = Passage(block.input, block.output, tuple(attentions), tuple(orders), norms,
                      (*read.values(), Vectors(block.order, block.output)), tuple(made.values()))
    kind = Kind.SELF if all(slot.kind is Kind.SELF for slot in slots) else Kind.CAUSAL
    rest = [call for call in linears if call.name not in used]
    norm_first = not any(close(norm.output, block.output) for norm in norms)
    return Block(kind, slots[0].index, block.input, block.output, tuple(attentions), norms, norm_first,
                 feed_forward(rest, block.input.shape[1]), passage.steps())


def _attention(slot: Slot, seen: tuple[np.ndarray, np.ndarray, np.ndarray], mixed: np.ndarray,
               linears: list[ModuleCall], norms: list[ModuleCall]) -> tuple[AttentionOutput, int, set[str]]:
    """Return the matrices around one attention layer, when W_O was applied, and the names of their modules. seen: its
    queries, keys and values. mixed: the heads' outputs, edits included, (q, head, d_v). norms: those inside the
    attention module."""
    own = [call for call in linears if call.name.startswith(slot.module + ".")]
    inputs: tuple[ModuleCall, ...] = ()
    try:
        query, q_layout, q_scale = _before_rotation("queries", own, norms, seen[0])
        shared = query.output[0].size > seen[0][:, 0].size
        others = [call for call in own if call is not query or shared]
        key, k_layout, k_scale = _before_rotation("keys", others, norms, seen[1])
        value, v_layout = _find_matrix("values", own, seen[2], exact=True)
        scaled = q_layout(query.output) * (1 if q_scale is None else q_scale)
        inputs, pairs, unknown = (query, key, value), pairs_of(scaled.swapaxes(0, 1), seen[0]), ""
    except Unfollowed as error:
        unknown = str(error)
    output, gate = reader_of(mixed, [call for call in (*linears, *norms) if call not in inputs[2:]])
    if output is None:
        raise Unfollowed("no matrix takes its heads' outputs as input")
    for call in (*inputs, output):
        if not close(call.input @ call.matrix + (0 if call.bias is None else call.bias), call.output):
            raise Unfollowed(f"{call.name} does more than multiply by its matrix, as with a hook")
    common = (slot.kind, slot.index, output.matrix.reshape(len(seen[0]), -1, output.matrix.shape[1]), output.bias,
              output.output, gate, unknown)
    found = AttentionOutput(*common) if not inputs else AttentionTrace(
        *common, query.input, value.input, _projection(query, q_layout), _projection(key, k_layout),
        _projection(value, v_layout), pairs, q_scale, k_scale)
    return found, output.order, {call.name for call in (*(inputs or own), output)}


def _before_rotation(what: str, linears: list[ModuleCall], norms: list[ModuleCall],
                     wanted: np.ndarray) -> tuple[ModuleCall, Callable, np.ndarray | None]:
    """Find the matrix that produces queries or keys (head, t, d) before rotary positions, its layout, and the factors
    (t, head, d) in between, or None: of a root-mean-square norm, which may treat each head alone, or a constant."""
    count, tokens, size = wanted.shape
    for norm in (norm_of(call.name, call) for call in norms if call.output.size == wanted.size):
        for order in (lambda array: array.reshape(tokens, count, size),
                      lambda array: array.reshape(count, tokens, size).swapaxes(0, 1)):
            if norm.kind == "rms" and norm.bias is None and _turn(order(norm.output).swapaxes(0, 1), wanted) == 1:
                call, layout = _find_matrix(what, linears, order(norm.input).swapaxes(0, 1), exact=True)
                return call, layout, order((norm.scales[:, None] * norm.gain).astype(np.float32))
    call, layout = _find_matrix(what, linears, wanted, exact=False)
    factor = _turn(layout(call.output).swapaxes(0, 1), wanted)
    return call, layout, None if factor == 1 else np.full((tokens, count, size), factor, np.float32)


def _projection(call: ModuleCall, layout: Callable) -> Projection:
    return Projection(np.moveaxis(layout(call.matrix), 1, 0), None if call.bias is None else layout(call.bias))


def _layouts(width: int, count: int, size: int) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Yield the possible arrangements of `count` heads of `size` among `width` outputs, as functions of an array that
    return a view of it: contiguous from some offset, or interleaved by head with others, such as keys and values, or a
    gate."""
    whole = count * size
    parts = width // whole
    ways = [(start, 1, 0) for start in range(0, width - whole + 1, size)]
    ways += [(0, parts, which) for which in range(parts) if parts in (2, 3) and width == parts * whole]
    for start, parts, which in ways:
        def layout(array: np.ndarray, start: int = start, parts: int = parts, which: int = which) -> np.ndarray:
            found = array[..., start:start + parts * whole]
            return found.reshape(*array.shape[:-1], count, parts, size)[..., which, :]

        yield layout


def _find_matrix(what: str, linears: list[ModuleCall], wanted: np.ndarray,
                 exact: bool) -> tuple[ModuleCall, Callable]:
    """Find the matrix whose output is these vectors (head, t, d), and its layout. Unless `exact`, they may have been
    rotated and multiplied by a constant."""
    count, tokens, size = wanted.shape
    for call in linears:
        if len(call.output) != tokens:
            continue
        for layout in _layouts(call.output.shape[-1], count, size):
            made = layout(call.output).swapaxes(0, 1)
            if close(made, wanted) if exact else _turn(made, wanted):
                return call, layout
    raise Unfollowed(f"no matrix was found that produces its {what}")


def _turn(made: np.ndarray, wanted: np.ndarray) -> float | None:
    """Return the constant by which vectors (head, t, d) were multiplied, 1 or as in OPT and YaRN, if this and a
    rotation, which leaves the first token as it is, are the only differences between two versions; else None."""
    one, other = (np.linalg.norm(vectors, axis=-1) for vectors in (made, wanted))
    factor = float(other.max() / max(one.max(), 1e-30))
    factor = 1.0 if abs(factor - 1) < closeness() else factor
    return factor if close(one * factor, other) and close(made[:, 0] * factor, wanted[:, 0]) else None


def reader_of(mixed: np.ndarray, calls: list[ModuleCall],
              values: np.ndarray | None = None) -> tuple[ModuleCall | None, np.ndarray | None]:
    """Find W_O, the first matrix whose input is the heads' outputs, mixed (q, head, d_v), and the gate in between, or
    None: (q, head, d_v), or (q, head, 1) for one number per head. values: of the queries' own tokens, (q, head, d_v),
    if a part along them may be subtracted before the gate (NeoMME)."""
    wide = [call for call in calls if call.input.size == mixed.size and not is_norm(call)]
    scales = [(norm.scales[:, None] * norm.gain).reshape(mixed.shape) for norm in _norms(calls) if norm.kind == "rms"
              and norm.bias is None and close(norm.input, mixed.reshape(len(mixed), -1))]
    for call in wide:
        if close(call.input, mixed.reshape(call.input.shape)):
            return call, None
    for call in wide:
        read = call.input.reshape(mixed.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = read / mixed
        # whatever multiplies a head as a whole: a gate with one number per head, or a norm without gains
        whole = (read * mixed).sum(-1, keepdims=True) / np.maximum((mixed * mixed).sum(-1, keepdims=True), 1e-30)
        candidates = itertools.chain([whole], scales, *(_gates(each.output, ratio) for each in calls
                                                        if each.order < call.order))
        for gate in candidates:
            if close(read, mixed * gate):
                return call, gate
            if values is not None:
                own = values * ((mixed * values).sum(-1, keepdims=True) / (values * values).sum(-1, keepdims=True))
                lost = gate * own
                share = ((mixed * gate - read) * lost).sum((0, 2), keepdims=True) / (lost * lost).sum(
                    (0, 2), keepdims=True)
                left = (mixed - share * own) * gate
                if close(read, left):
                    return call, np.divide(left, mixed, out=np.zeros_like(left), where=mixed != 0)
    return None, None


def _gates(output: np.ndarray, ratio: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the gates with a number for each dimension of each head that a matrix's output (q, width) could be: a
    sigmoid (Qiu et al. 2025), perhaps with a bias for each head (Beam), or a softplus. ratio: of W_O's input to the
    heads' outputs (q, head, d_v)."""
    import torch

    tokens, count, size = ratio.shape
    for layout in _layouts(output.shape[1], count, size) if len(output) == tokens else ():
        part = torch.tensor(layout(output))
        yield torch.sigmoid(part).numpy()
        yield torch.nn.functional.softplus(part).numpy()
        bias = torch.nanmedian(torch.logit(torch.tensor(ratio)) - part, 2).values.nanmedian(0).values
        yield torch.sigmoid(part + bias[:, None]).numpy()


def _embedded(kind: Kind, blocks: tuple[Block, ...], outside: list[ModuleCall], model: "NetworkModel") -> Embedded:
    """Return the first block's input, the embeddings that add up to it, and the norm of their sum. outside: the calls
    of modules with weights outside all blocks."""
    output = next(block for block in blocks if block.kind is kind).before
    before = [call for call in outside
              if len(call.output) in (1, len(output)) and call.output.shape[-1] == output.shape[1]]
    norms = [norm_of(call.name, call) for call in before if is_norm(call) and close(call.output, output)]
    norm = norms[0] if norms else None
    table = None
    with suppress(NotImplementedError):   # of classes that do not say where theirs are
        table = model.network.get_input_embeddings()
    tables = [call for call in before if type(call.module).__name__.endswith("Embedding")]
    parts = [(_name_of(call, table), np.broadcast_to(call.output, output.shape)) for call in tables]
    total = sum((part for _, part in parts), np.zeros_like(output))
    return Embedded(kind, tuple(parts) if close(total, output if norm is None else norm.input) else (), norm, output,
                    next((_learned(call) for call in tables if _name_of(call, table) == "position"), None))


def _learned(call: ModuleCall) -> np.ndarray | None:
    """Return the table of learned positions, starting at the first token's row: RoBERTa and OPT have unused rows before
    it. Return None for fixed sinusoids stored as a table (Marian)."""
    weight = numbers(call.module.weight)
    first = np.flatnonzero((weight == call.output[0]).all(-1))
    return weight[first[0]:] if len(first) and "Sinusoidal" not in type(call.module).__name__ else None


def _name_of(call: ModuleCall, table: "nn.Module | None") -> str:
    if table is not None and call.module.weight is table.weight:
        return "token"
    if "token_type" in call.name:
        return "segment"
    return "position" if "pos" in call.name or "wpe" in call.name else call.name.split(".")[-1]
