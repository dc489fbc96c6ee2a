"""Test one model family: open, verify and query a model, compare it with eager attention, and plant faults in the
capture."""
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import families_models, families_pictures
from clearhead.model.capture import calls as module_calls
from clearhead.model.capture import forward_pass, trace
from clearhead.model.capture.forward_pass import Slot
from clearhead.model.capture.verify import layer_number, own_values
from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Chunk, Full, SlidingWindow
from clearhead.model.core.query import Edit, Hide, Kind, Query, Temper, UserError, Window, quiet
from clearhead.model.core.record import AttentionRecord, Layer

TOLERANCE = 1e-4   # maximum difference of a weight from the model's own eager weights
# minimum mean distance of rows from uniform weights for a meaningful test, as a share of a row
UNEVEN = 0.2
ASKED, ASKED_AGAIN = 7, 11   # seeds of the query, and of the query with a planted fault
REPORTED = {Kind.SELF: "encoder_attentions", Kind.CAUSAL: "decoder_attentions", Kind.CROSS: "cross_attentions"}


@dataclass(frozen=True)
class Outcome:
    """The outcome of testing one family.

    status: verified, reported, refused, not built or wrong. max_error: largest difference of a displayed weight from
    the model's own eager weights, None if there are none. complete: largest difference of Σ over heads of (shown
    factors × weights · value) W_O + bias from the attention module's output, relative to that output's largest number;
    infinite if no such sum is known, None if not verified. faults_caught: "2/2" means at load and on an answer. kinds:
    description of the attention found. trace: end of the traceback if the model was not built. input: "text" or
    "picture".
    """

    type: str
    status: str
    reason: str = ""
    input: str = "text"
    max_error: float | None = None
    complete: float | None = None
    faults_caught: dict[str, str] | None = None
    kinds: tuple[str, ...] = ()
    trace: str = ""


class Reader(NamedTuple):
    """The functions that differ between families that read texts and pictures."""

    build: Callable[[str, str], Any]                  # (type, attention implementation) → the small network
    opened: Callable[[str, Any], Any]                 # (type, network) → the open model
    query: Callable[[Any, int], Query]                # (network, seed) → a random query
    try_eager: Callable[[str], Any]                   # (type) runs unmodified transformers; raises if that fails
    eager: Callable[[str, Any, AttentionRecord], dict[Kind, list[np.ndarray]]]   # eager weights for the record's input
    probe: Callable[[Any], tuple]                     # (model) → further arguments of `verify.wire`


def check(model_type: str, reads: str = "text") -> Outcome:
    """Test one family and return the outcome. Errors of the family are never raised. reads: "text" or "picture"."""
    reader = READERS[reads]
    try:
        reader.try_eager(model_type)
        network = build_network(model_type, reader)
    except Exception as error:
        return Outcome(model_type, "not built", said(error), reads,
                       trace="".join(traceback.format_exception(error)[-3:]).strip())
    try:
        model = reader.opened(model_type, network)
        record = model.record(reader.query(network, ASKED), quiet)
    except Exception as error:
        return Outcome(model_type, "refused", said(error), reads)
    return _judge(Outcome(model_type, "", input=reads), model, record)


def build_network(model_type: str, reader: "Reader | None" = None):
    """Build the network as Clearhead loads it: with its own attention function if possible, else with eager
    attention."""
    build = (reader or TEXT).build
    try:
        return build(model_type, forward_pass.IMPLEMENTATION)
    except (KeyError, ValueError):
        return build(model_type, "eager")


def said(error: BaseException) -> str:
    """Return an error's message in one line."""
    words = " ".join(str(error).split())[:300]
    return words if isinstance(error, UserError) else f"{type(error).__name__}: {words}"


def open_built(model_type: str, network):
    """Open the network as a model."""
    from clearhead.model.pretrained import build, load

    place = load.ModelFiles(model_type, folder=Path("/nowhere"), title=model_type, licence="walk")
    words = families_models.tokenizer(network.config.get_text_config().vocab_size)
    return build.build_model(place, network, words, families_models.head_of(model_type, network))


def probe_query(network, seed: int = ASKED) -> Query:
    """Return a query of random tokens in the network's vocabulary."""
    size = network.config.get_text_config().vocab_size
    source, target = (families_models.text(size, length, seed) for length in families_models.LENGTHS)
    return Query("walk", "walk", source, target=target if network.config.is_encoder_decoder else None)


def _judge(outcome: Outcome, model, record: AttentionRecord) -> Outcome:
    error = difference(record, READERS[outcome.input].eager(outcome.type, model, record))
    kinds = tuple(f"{each.kind}: {', '.join(sorted({_describe(layer) for layer in each.layers}))}"
                  for each in record.maps)
    if model.network.config.is_encoder_decoder and Kind.CROSS not in record.kinds:
        return replace(outcome, status="wrong", kinds=kinds, reason="its cross-attention is not shown")
    if Kind.CROSS in record.kinds and Kind.SELF not in record.kinds:
        kinds += ("self: not shown, as the encoder has an attention of its own",)
    outcome = replace(outcome, status=record.verification.status, reason="; ".join(record.verification.reasons),
                      max_error=error, kinds=kinds)
    if error is not None and not error <= TOLERANCE:
        return replace(outcome, status="wrong", reason=f"differs by {error:.2g} from the model's own eager weights")
    if outcome.status != "verified":
        return outcome
    complete = incompleteness(model, record.query) 
    caught = {fault: catches(model, plant, outcome.input) for fault, plant in applicable(record).items()}
    doubts = [f"the planted fault {fault} was not caught" for fault, times in caught.items()
              if times != "2/2"]
    doubts += mild(record) + edited(model, record, READERS[outcome.input].query(model.network, ASKED))
    outcome = replace(outcome, faults_caught=caught, complete=complete)
    return replace(outcome, status="reported", reason="; ".join(doubts)) if doubts else outcome


def incompleteness(model, query: Query) -> float:
    """Return the largest difference of the sum over heads from an attention module's output, as in `Outcome`. Of a
    module that runs several times in a pass, the last call counts."""
    slots = {slot.module: slot for slot in model.wiring.slots.values()}
    blocks = {name: module_calls.block_name(name) if layer_number(name) is not None else name for name in slots}
    with module_calls.watch_calls(model.network, set(blocks.values())) as calls:
        record = model.record(query, quiet)
    errors = [0.0]
    for name, slot in slots.items():
        layer = record[slot.kind].layer(slot.index)
        mixed = layer.head_outputs(slice(0, layer.shape[1])).swapaxes(0, 1)
        for place in (name, blocks[name]):   # BERT's W_O is in a module beside its attention
            inside = [call for path, call in calls.items()
                      if path.startswith(place + ".") and module_calls.is_leaf(call.module)]
            reader, gate = trace.reader_of(mixed, inside, own_values(layer))
            if reader is not None:
                break
        if reader is None:
            # of JetMoE's W_O, each token has its own: that of experts, which read the heads' outputs in another order
            order = lambda numbers: np.sort(numbers.reshape(1, -1))
            if layer.gate is not None or not any(call.input.size == mixed.size and trace.close(
                    order(call.input), order(mixed)) for call in inside):
                return float("inf")
            errors.append(_apart(model, query, slot, mixed, calls[name].output))
            continue
        heads_out = (mixed if gate is None else mixed * gate).reshape(len(mixed), -1).astype(np.float64)
        whole = heads_out @ reader.matrix + (0 if reader.bias is None else reader.bias)
        # ALBERT's module adds its input and normalises the sum, and BERT's W_O is in another module
        outputs = [each for each in (calls[name].output, reader.output) if each.shape == whole.shape]
        sees = ~layer.sees_nothing.any(0)
        if not outputs or not _shares_shown(layer, gate, mixed):
            return float("inf")
        errors.append(min(float(np.abs(whole - theirs)[sees].max() / np.abs(theirs).max()) for theirs in outputs))
    return max(errors)


def _apart(model, query: Query, slot: Slot, mixed: np.ndarray, whole: np.ndarray) -> float:
    """Return the largest relative difference of the attention module's output, `whole`, from the sum of its outputs in
    passes where all heads' outputs, mixed (q, head, d_v), but one are 0."""
    import torch

    tensors, names = model.tokens(query).tensors, forward_pass.names_of(model.network)

    def output_of(given: np.ndarray) -> np.ndarray:
        tap = lambda place, _tensors, output: torch.tensor(given)[None].contiguous() if place == slot else output
        session = forward_pass.Session(names, model.wiring.slots, tap=tap)
        with module_calls.watch_calls(model.network, {module_calls.block_name(slot.module)}) as calls:
            forward_pass.run(session, lambda: model.forward(tensors))
        return calls[slot.module].output.astype(np.float64)

    bias, heads_of = output_of(np.zeros_like(mixed)), np.eye(mixed.shape[1], dtype=np.float32)
    made = bias + sum(output_of(mixed * chosen[:, None]) - bias for chosen in heads_of)
    return float(np.abs(made - whole).max() / np.abs(whole).max())


def _shares_shown(layer, gate: np.ndarray | None, mixed: np.ndarray) -> bool:
    """Return whether the record states how much of each head's output passes, if something follows the heads."""
    if gate is None or layer.gate is None:
        return gate is None and layer.gate is None
    length = lambda vectors: np.linalg.norm(vectors, axis=-1)
    shares = length(mixed * gate) / np.maximum(length(mixed), 1e-30)
    return bool(np.allclose(layer.gate.T, shares, rtol=1e-3, atol=1e-5))


def edited(model, record: AttentionRecord, query: Query) -> list[str]:
    """Return a reason if a pass with a temperature, a hidden token and, in a decoder, a window is not verified against
    the model's own attention."""
    part = record.maps[-1]
    edits: set[Edit] = {Temper(part.kind, part.layers[-1].index, 0, 0.5), Hide("source", 2)}
    edits |= {Window(5, 1)} if Kind.CAUSAL in record.kinds else set()
    try:
        status = model.record(replace(query, edits=frozenset(edits)), quiet).verification.status
    except UserError as error:
        return [f"an edited pass is refused ({said(error)})"]
    return [] if status == "verified" else [f"an edited pass is {status}"]


def _describe(layer) -> str:
    extras = [name for name in ("bias", "softcap", "sink") if getattr(layer, name, None) is not None]
    name = f"sparse, {layer.sparse.most} of {layer.shape[2]}" if layer.sparse else type(layer.allowed).__name__.lower()
    return " + ".join([name, *extras])


def mild(record: AttentionRecord) -> list[str]:
    """Return reasons why these weights might not reveal a fault, such as nearly uniform rows, or scores that are not
    affected by the soft cap."""
    found = []
    for each in record.maps:
        for layer in each.layers:
            n_queries, n_keys = layer.shape[1:]
            weights = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
            allowed = np.broadcast_to(layer.allowed.block(slice(0, n_queries), slice(0, n_keys)), weights.shape)
            moved = np.abs(weights - allowed / allowed.sum(-1, keepdims=True)).sum(-1) / 2
            if moved[allowed.sum(-1) > 1].mean() < UNEVEN:
                found.append(f"{each.kind} layer {layer.index} is near uniform")
            if isinstance(layer,
                          Layer) and layer.softcap is not None and np.nanmax(
                              np.abs(_products(layer))) < layer.softcap / 2:
                found.append(f"{each.kind} layer {layer.index} stays below half of its soft-cap")
    return found


def _products(layer) -> np.ndarray:
    """Compute query · key · scale, (head, query, key)."""
    return layer.query @ np.repeat(layer.key, layer.heads // len(layer.key), axis=0).swapaxes(1, 2) * layer.scale


def eager_output(model_type: str, ids: tuple):
    """Return the output of a fresh copy of the model in unmodified transformers, with eager attention. ids: of source
    and target."""
    import inspect

    import torch

    network = families_models.build(model_type, "eager")
    inputs = dict(zip(("input_ids", "decoder_input_ids"), (torch.tensor([list(each)]) for each in ids)))
    if not network.config.is_encoder_decoder:
        inputs.pop("decoder_input_ids", None)
    if "attention_mask" in inspect.signature(network.forward).parameters:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with torch.inference_mode():
        return network(**inputs, output_attentions=True)


def eager_weights(model_type: str, record: AttentionRecord) -> dict[Kind, list[np.ndarray]]:
    """Return the weights that unmodified transformers reports for the record's tokens, {kind: (head, query, key) per
    layer}. Does not use Clearhead's capture."""
    source = next(each.keys.ids for each in (record.maps[-1], *record.maps)
                  if each.kind is not Kind.CAUSAL or len(record.maps) == 1)
    target = record[Kind.CAUSAL].queries.ids if Kind.CAUSAL in record.kinds else ()
    output = eager_output(model_type, (source, target))
    names = REPORTED if hasattr(output,
                                "cross_attentions") and Kind.CROSS in record.kinds else dict.fromkeys(
                                    record.kinds, "attentions")
    shapes = {each.kind: (len(each.queries), len(each.keys)) for each in record.maps}
    return {kind: [each[0].float().numpy() for each in getattr(output, names[kind], None) or ()
                   if getattr(each, "ndim", 0) == 4 and tuple(each.shape[2:]) == shapes[kind]] for kind in record.kinds}


def difference(record: AttentionRecord, eager: dict[Kind, list[np.ndarray]]) -> float | None:
    """Return the largest difference between a displayed weight and the corresponding eager weight.

    None if the model reports no weights, infinite if it reports different layers. If the model distributes the weight
    of a sink over the other keys, like Granite SWA, ours is distributed in the same way for the comparison.
    """
    worst, compared = 0.0, 0
    for each in record.maps:
        if eager[each.kind] and len(each.layers) != len(eager[each.kind]):
            return float("inf")
        for layer, weights in zip(each.layers, eager[each.kind]):
            ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
            if layer.minus is not None:
                weights = weights[:layer.heads] - layer.minus_factor * weights[layer.heads:]
            if getattr(layer, "sink", None) is not None and np.abs(weights.sum(-1) - 1).max() < TOLERANCE:
                ours = ours / ours.sum(-1, keepdims=True)
            worst = max(worst, float(np.abs(ours - weights).max()) if ours.shape == weights.shape else float("inf"))
            compared += 1
    return worst if compared else None


def applicable(record: AttentionRecord) -> dict[str, Callable]:
    """Return the faults that can be planted in these layers, {name: function that corrupts a call}."""
    layers = [layer for each in record.maps for layer in each.layers]
    some = lambda test: any(test(layer) for layer in layers)
    faults: dict[str, Callable] = {"scale × 1.1": lambda call: {"scale": call.scale * 1.1}}
    if some(lambda layer: not isinstance(layer.allowed, Full)):
        faults["no mask"] = lambda call: {"allowed": Full()}
    if some(lambda layer: layer.bias is not None):
        faults["no bias"] = lambda call: {"bias": None}
    if some(lambda layer: layer.softcap is not None):
        faults["no soft-cap"] = lambda call: {"softcap": None}
    if some(lambda layer: isinstance(layer.allowed, SlidingWindow | Chunk)):
        faults["no window"] = lambda call: {"allowed": unwindowed(call.allowed)}
    if some(lambda layer: layer.sink is not None):
        faults["no sink"] = lambda call: {"sink": None}
    if some(lambda layer: layer.heads > 1):
        faults["heads swapped"] = lambda call: {"query": np.concatenate([call.query[1::-1], call.query[2:]])}
    if record.maps[0].queries.grid:
        faults["patches transposed"] = lambda call: families_pictures.transposed(call, record.maps[0].queries)
    return faults


def unwindowed(allowed):
    """Return the mask without a window or chunks."""
    if isinstance(allowed, Chunk):
        return Causal()
    return allowed if not isinstance(allowed, SlidingWindow) else Causal() if allowed.ahead == 0 else Full()


@contextmanager
def planted(fault: Callable) -> Iterator[None]:
    """Corrupt every attention call that Clearhead reads within the with block. The model itself is unchanged."""
    understand = forward_pass.parse_call

    def spoilt(*arguments):
        call = understand(*arguments)
        for name, value in fault(call).items():
            setattr(call, name, value)
        return call

    forward_pass.parse_call = spoilt
    try:
        yield
    finally:
        forward_pass.parse_call = understand


def catches(model, fault: Callable, reads: str = "text") -> str:
    """Return how many of two checks detect the fault: the check at load, and the check of an answer by a model that was
    verified before the fault was planted."""
    from clearhead.model.capture import verify

    reader = READERS[reads]
    with planted(fault):
        wiring = verify.wire(model.network, *reader.probe(model))
        at_load = bool(wiring.reasons)
        try:
            model.record(reader.query(model.network, ASKED_AGAIN), quiet)
            on_answer = False
        except UserError:
            on_answer = True
    return f"{at_load + on_answer}/2"


def _text_probe(model) -> tuple:
    from clearhead.model.pretrained import build

    return build.probe_of(model.network)


TEXT = Reader(families_models.build, open_built, probe_query,
              lambda model_type: eager_output(model_type, (range(16, 45), range(16, 39))),
              lambda model_type, model, record: eager_weights(model_type, record), _text_probe)
PICTURE = Reader(families_pictures.build, families_pictures.open_built,
                 lambda network, seed: families_pictures.query(seed), families_pictures.eager_output,
                 families_pictures.eager_weights, families_pictures.probe)
READERS = {"text": TEXT, "picture": PICTURE}
