"""One family through Clearhead's own path: opened and verified, asked, compared with eager attention, and with faults planted in the capture."""
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from benchmarks import families_models
from model import heads
from model.masks import Causal, Chunk, Full, Window
from model.query import Kind, Query, UserError
from model.record import AttentionRecord

TOLERANCE = 1e-4   # of a weight, to the model's own eager weights
REPORTED = {Kind.SELF: "encoder_attentions", Kind.CAUSAL: "decoder_attentions", Kind.CROSS: "cross_attentions"}


@dataclass(frozen=True)
class Outcome:
    """What the walk says of one family.

    status: verified, reported, refused, not built or wrong. max_error: the largest difference of a shown weight from the model's own eager
    weights, None if eager attention gives none. faults_caught: "2/2" means at load and on an answer. peak: mean largest weight of a row.
    """

    type: str
    status: str
    reason: str = ""
    max_error: float | None = None
    faults_caught: dict[str, str] | None = None
    missed: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    peak: float | None = None


def check(model_type: str) -> Outcome:
    """The outcome of one family. Never raises for what the family does."""
    try:
        network = _build(model_type)
    except Exception as error:
        return Outcome(model_type, "not built", said(error))
    try:
        model = _open(model_type, network)
        record = model.answer(_query(network), lambda fraction, text: None)
    except Exception as error:
        return Outcome(model_type, "refused", said(error))
    return _judge(model_type, model, record)


def _build(model_type: str):
    """As Clearhead loads: with its own attention function where the family lets it, else eager."""
    from model.pretrained import capture

    try:
        return families_models.build(model_type, capture.IMPLEMENTATION)
    except (KeyError, ValueError):
        return families_models.build(model_type, "eager")


def said(error: BaseException) -> str:
    """The first line of an error and where it was raised, short."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = "" if trace is None or isinstance(error, UserError) else f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}{place}"


def _open(model_type: str, network):
    from model.pretrained import opening

    place = SimpleNamespace(id=model_type, folder=Path("/nowhere"), title=model_type, licence="", entry=None)
    words = families_models.tokenizer(network.config.get_text_config().vocab_size)
    return opening.wired(place, "walk", network, words, families_models.HEADS[families_models.mappings()[model_type]][1])


def _query(network, seed: int = 7) -> Query:
    size = network.config.get_text_config().vocab_size
    source, target = (families_models.text(size, length, seed) for length in families_models.LENGTHS)
    return Query("walk", "walk", source, target=target if network.config.is_encoder_decoder else None)


def _judge(model_type: str, model, record: AttentionRecord) -> Outcome:
    error = difference(record, eager_weights(model_type, record))
    kinds = tuple(f"{each.kind}: {', '.join(sorted({_describe(layer) for layer in each.layers}))}" for each in record.maps)
    outcome = Outcome(model_type, record.verification.status, "; ".join(record.verification.reasons), error, kinds=kinds, peak=peak(record))
    if error is not None and not error <= TOLERANCE:
        return replace(outcome, status="wrong", reason=f"differs by {error:.2g} from the model's own eager weights")
    if outcome.status != "verified":
        return outcome
    caught = {fault: catches(model, plant) for fault, plant in applicable(record).items()}
    missed = tuple(fault for fault, times in caught.items() if times != "2/2")
    return replace(outcome, faults_caught=caught, missed=missed,
                   **({"status": "reported", "reason": f"planted faults not caught: {', '.join(missed)}"} if missed else {}))


def _describe(layer) -> str:
    extras = [name for name in ("bias", "softcap", "sink") if getattr(layer, name, None) is not None]
    return " + ".join([type(layer.allowed).__name__.lower(), *extras])


def peak(record: AttentionRecord) -> float:
    """The mean over rows of the largest weight; near 1 / tokens would be uniform."""
    return float(np.mean([block.max(-1).mean() for each in record.maps for layer in each.layers for _, _, block in heads.weight_blocks(layer)]))


def eager_weights(model_type: str, record: AttentionRecord) -> dict[Kind, list[np.ndarray]] | None:
    """What a fresh copy of the model reports under eager attention, (head, query, key) by kind; None if it reports nothing. No Clearhead in it."""
    import inspect

    import torch

    network = families_models.build(model_type, "eager")
    sides = {each.kind: each for each in record.maps}
    inputs = {"input_ids": sides[Kind.SELF if Kind.SELF in sides else Kind.CAUSAL].keys.ids}
    if network.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = sides[Kind.CAUSAL].queries.ids
    inputs = {name: torch.tensor([ids]) for name, ids in inputs.items()}
    if "attention_mask" in inspect.signature(network.forward).parameters:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    with torch.inference_mode():
        output = network(**inputs, output_attentions=True)
    names = REPORTED if network.config.is_encoder_decoder else dict.fromkeys(sides, "attentions")
    found = {kind: [each[0].float().numpy() for each in getattr(output, names[kind], None) or () if each is not None and each.ndim == 4]
             for kind in sides}
    return found if all(found.values()) else None


def difference(record: AttentionRecord, eager: dict[Kind, list[np.ndarray]] | None) -> float | None:
    """The largest difference of any weight shown from the eager one in the same place; None without eager weights, infinite if layers do not match."""
    if eager is None:
        return None
    worst = 0.0
    for each in record.maps:
        if len(each.layers) != len(eager[each.kind]):
            return float("inf")
        for layer, weights in zip(each.layers, eager[each.kind], strict=True):
            ours = np.stack([heads.weights(layer, head) for head in range(layer.heads)])
            worst = max(worst, float(np.abs(ours - weights).max()) if ours.shape == weights.shape else float("inf"))
    return worst


def applicable(record: AttentionRecord) -> dict[str, Callable]:
    """The planted faults that apply to these layers: {name: a function that spoils a call}."""
    layers = [layer for each in record.maps for layer in each.layers]
    some = lambda test: any(test(layer) for layer in layers)
    faults: dict[str, Callable] = {"scale × 1.1": lambda call: {"scale": call.scale * 1.1}}
    if some(lambda layer: not isinstance(layer.allowed, Full)):
        faults["no mask"] = lambda call: {"allowed": Full()}
    if some(lambda layer: layer.bias is not None):
        faults["no bias"] = lambda call: {"bias": None}
    if some(lambda layer: layer.softcap is not None):
        faults["no soft-cap"] = lambda call: {"softcap": None}
    if some(lambda layer: isinstance(layer.allowed, Window | Chunk)):
        faults["no window"] = lambda call: {"allowed": _unwindowed(call.allowed)}
    if some(lambda layer: layer.sink is not None):
        faults["no sink"] = lambda call: {"sink": None}
    if some(lambda layer: layer.heads > 1):
        faults["heads swapped"] = lambda call: {"query": np.concatenate([call.query[1::-1], call.query[2:]])}
    return faults


def _unwindowed(allowed):
    if isinstance(allowed, Chunk):
        return Causal()
    return allowed if not isinstance(allowed, Window) else Causal() if allowed.ahead == 0 else Full()


@contextmanager
def planted(fault: Callable) -> Iterator[None]:
    """Within, every attention call that Clearhead reads is spoilt in one way. The model itself runs on as it should."""
    from model.pretrained import capture

    understand = capture.understand

    def spoilt(*arguments):
        call = understand(*arguments)
        for name, value in fault(call).items():
            setattr(call, name, value)
        return call

    capture.understand = spoilt
    try:
        yield
    finally:
        capture.understand = understand


def catches(model, fault: Callable) -> str:
    """How many of the two checks notice: the one at load, and the one on an answer of a model that was verified before the fault."""
    from model.pretrained import opening, verify

    with planted(fault):
        wiring = verify.wire(model.network, *opening.probe_of(model.network))
        at_load = bool(wiring.reasons)
        try:
            model.answer(_query(model.network, seed=11), lambda fraction, text: None)
            on_answer = False
        except UserError:
            on_answer = True
    return f"{at_load + on_answer}/2"

