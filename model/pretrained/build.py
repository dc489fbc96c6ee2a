"""Turn a checked folder into a `PretrainedModel`: load it with transformers, verify it with a probe, write its card."""
import copy
import inspect
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clearhead.model.capture import forward_pass, verify
from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.transformers_internals import (
    head_of,
    made_of,
    make_eager,
    mismatched_tensors,
    no_weights,
    tied_names,
)
from clearhead.model.core import memory
from clearhead.model.core.query import Kind, NotFinite, Progress, UserError, first_line
from clearhead.model.core.record import Card
from clearhead.model.core.torch_runs import seeded, stop_between_layers
from clearhead.model.pretrained import accounting, files
from clearhead.model.pretrained.adapters import Adapter
from clearhead.model.pretrained.files import (
    ADAPTER_CONFIG,
    SHOWN,
    Weights,
    blame,
    check_weights,
    origin_of,
    read_json,
)
from clearhead.model.pretrained.inputs import HALVES, as_tensors
from clearhead.model.pretrained.model import PretrainedModel, pooling_of
from clearhead.model.pretrained.tokens import LOAD_OPTIONS

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clearhead.model.pretrained import Config, Network, Output, Tokenizer
    from clearhead.model.pretrained.load import ModelFiles

Lent = Callable[[], AbstractContextManager["Network"]]   # gives what runs in a pass
Lend = Callable[["Network"], AbstractContextManager["Network"]]   # gives it for a network, or a part of one
PROBE, PROBE_TARGET = 24, 13   # tokens; different lengths identify the two sides of an encoder–decoder
# largest difference between equal outputs, relative to the largest number: in float32, and in rounding errors of
# smaller types
SAME, ROUNDINGS = 1e-3, 16
SEED = 2017   # seed of an untrained twin's weights
ADAPTED = "the configuration of this adapter"
LONGEST = 3.0    # most seconds for measuring the rows of a model that cannot be captured
PERMUTED = frozenset({"xlnet"})  # decoders that attend to later tokens by design if no permutation is passed
SHARED = 100        # maximum number of layers that may share weights
COMPUTED = {"F32", "I64", "I32", "U8", "BOOL"}   # types whose stored and computed precision are the same


class Loaded(NamedTuple):
    """A network with loaded weights."""

    network: "Network"           # of a class of transformers
    head: str                    # kind of prediction: next, mask, target, label or none
    unapplied: tuple[str, ...]   # clauses on what changes the model but is not applied
    dtype: str                   # types in which weights are stored and computed


def load_network(place: "ModelFiles", argument: str, report: Progress) -> Loaded:
    """Load a folder's network with its weights and merge its adapter. argument: the input that its forward pass must
    accept. Raises UserError, naming the file, if it cannot be created or does not fit into memory."""
    import torch
    import transformers

    report(0.1, "reading the configuration")
    config, weights = _config(place.folder), files.weights_of(place.folder)
    adapter = None if place.adapter is None else Adapter(place.adapter)
    with blame(place.folder / "config.json", "a configuration that a network can be made of"):
        accounting.check_inputs(place.title, config, argument)
        network_class = accounting.architecture_of(config) or transformers.AutoModel
        pooled = any(map(pooling_of, place.folders))
        if pooled and head_of(network_class.__name__) != "none":
            network_class = transformers.AutoModel   # pooling combines the states below a head
        if adapter is not None:
            with blame(adapter.folder / ADAPTER_CONFIG, ADAPTED):
                named = adapter.architecture(network_class.__name__, config)
            network_class = getattr(transformers, named, network_class)
        _refuse_what_weights_do_not_hold(network_class, config, weights, place.title, place.dtype)
    report(0.2, "loading the weights")
    options = {"config": config, "use_safetensors": True, "dtype": getattr(torch, place.dtype),
               "output_loading_info": True,
               "ignore_mismatched_sizes": True, **LOAD_OPTIONS,
               # keep transformers from applying an adapter on its own, which it does if peft is installed
               "adapter_kwargs": {"subfolder": "none"}}
    # MLX writes `quantization`; another copy of quantised weights cannot be opened either
    levels = files.objects(read_json(place.folder / "config.json"))
    quantised = any(level.get(name) is not None for level in levels for name in (*accounting.PACKED, "quantization"))
    advice = "the model is quantised, so choose the unquantised one" if quantised else files.AGAIN
    with blame(weights.files[0], "the weights of what config.json describes", advice):
        try:
            network, info = network_class.from_pretrained(
                place.folder, attn_implementation=forward_pass.IMPLEMENTATION, **options)
        except (KeyError, ValueError):
            network, info = network_class.from_pretrained(place.folder, attn_implementation="eager", **options)
        replaced = set() if adapter is None else adapter.replaced(network)
        check_weights(weights, network, [each for each in mismatched_tensors(info) if each[0] not in replaced], advice)
    if not accounting.has_attention(network):
        raise UserError(f"{place.title}, of the type {config.model_type}, has no attention to show; choose a "
                        f"Transformer.")
    head = head_of(type(network).__name__)
    # a missing pooler does not affect attention, but an adapter's classifier needs the pooler's output
    missing = sorted(name for name in info["missing_keys"] if name not in replaced
                     and ("pooler" not in name or (adapter is not None and head == "label")))
    prefix = f"{network.base_model_prefix}."
    if missing:
        ends = tuple(f".{name.removeprefix(prefix)}" for name in missing)
        other = next((name for name in sorted(info["unexpected_keys"]) if name.endswith(ends)), None)
        halves = config.model_type == "encoder-decoder" and missing[0].startswith("encoder.decoder.")
        raise UserError(f"{place.folder} lacks {len(missing)} of the model's tensors, such as {missing[0]}; " + (
            f"transformers creates its encoder with a decoder of its own, so {accounting.LOOK}." if halves else
            "copy or download the model again." if other is None else
            f"its weights have other names, such as {other}, so rename them or save the model with save_pretrained."))
    if adapter is not None:
        adapter.merge(network)
    try:
        network.eval().to(place.device)
    except (RuntimeError, AssertionError) as error:   # torch was built without it, or its memory is too small
        raise UserError(f"{place.title} cannot be moved to {place.device} ({first_line(error, 120)}); choose another "
                        f"device.") from error
    with blame(place.folder / "config.json", "a configuration of which each key is accounted for"):
        clauses = accounting.unapplied(place.folders, config, network, info["unexpected_keys"], weights.files,
                                       weights.repeated(prefix), pooled)
    stored = weights.dtypes
    own = place.dtype == "float32" and set(stored) <= COMPUTED
    dtype = place.dtype if own else f"{place.dtype}, stored as {' and '.join(stored)}"
    return Loaded(network, head, clauses, dtype)


def build_model(place: "ModelFiles", network: "Network", tokenizer: "Tokenizer | str", head: str,
                dtype: str = "float32", lend: "Lend" = nullcontext,
                probe: "tuple[Probe, tuple[int, int | None]] | None" = None, part: str = "") -> PretrainedModel:
    """Build the model of a network in evaluation mode, verified or at least reported. tokenizer: see `card_of`;
    probe: by default `probe_of`; part: the part whose attention is shown. Raises UserError if it cannot be shown
    correctly."""
    stop_between_layers(network)
    examined = examine(place, network, head, *(probe or probe_of(network, lend)), part)
    pooling = next(filter(None, map(pooling_of, reversed(place.folders))), None)
    card = card_of(place, network, tokenizer, examined, dtype)
    names = forward_pass.names_of(network, part)
    return PretrainedModel(card, network, tokenizer, examined.wiring, "vector" if pooling else head, examined.reasons,
                           names, plan_of(network, card, head, examined), pooling, examined.looks_ahead,
                           examined.numbered, partial(lend, network))


class Examined(NamedTuple):
    """The result of the probe."""

    # None if the model cannot be captured; it is then shown with its reported weights
    wiring: verify.Wiring | None
    looks_ahead: bool              # for reported weights: whether tokens attend to later ones
    numbered: bool                 # for reported weights: whether rows may not be the tokens and are numbered
    reasons: tuple[str, ...]       # clauses on why attention is reported but not verified
    shapes: list[memory.Shape]     # one per attention layer


def examine(place: "ModelFiles", network: "Network", head: str, forward: "Probe",
            lengths: tuple[int, int | None], part: str = "") -> Examined:
    """Examine whether the attention of the network, or of this part of it, can be verified or at least reported. Raises
    UserError if it can be neither."""
    wiring: verify.Wiring | None = None
    reasons: tuple[str, ...] = ()
    looks_ahead, moved = False, ""
    alone = "input_ids" in forward.tensors and not any(each.is_floating_point() for each in forward.tensors.values())
    try:
        wiring = verify.wire(network, forward, lengths, part)
        reasons = wiring.reasons
        if alone and not reasons:   # models that read pictures are measured in vision/places.py
            moved = verify.misplaced(network, forward, forward.tensors, wiring)
    except Unsupported as error:
        reasons = (str(error),)
    except NotFinite as error:
        raise UserError(f"{place.title} was not opened because its weights produce NaN or infinity {error.where}; copy "
                        f"or download them again, or choose another model.") from error
    shapes = [] if wiring is None else list(wiring.shapes.values())
    if reasons or moved:
        wiring, looks_ahead = None, _report(place, network, head, reasons or (moved,), forward, lengths)
        moved = moved or (_moved(network, forward) if alone else "")
        reasons += (f"{moved}, so rows and columns are numbered",) if moved else ()
        shapes = _shapes_of(network)
    causal = not looks_ahead if wiring is None else wiring.has(Kind.CAUSAL)
    reasons += place.unapplied + accounting.follows_is_causal(network.config, causal)
    return Examined(wiring, looks_ahead, bool(moved), tuple(dict.fromkeys(reasons)), shapes)


def _moved(network: "Network", forward: "Probe") -> str:
    """Return a clause about a row of attention that depends on a single token at another position, in a network that
    cannot be captured; "" if there is none, or if measuring takes too long."""
    from clearhead.model.look import rows

    short = {name: each[:, :verify.SHORT - name.startswith("decoder")] for name, each in forward.tensors.items()}
    with forward.lent(), seeded(0):
        found = rows.measure(network, (), short, lambda call: call(), longest=LONGEST)
    for each in (each for sides in found.sites.values() for each in sides if each.shape[-1] in {
            tensor.shape[1] for tensor in short.values()}):
        for row, label in enumerate(rows.of_heads(each.flatten(0, -2)).tolist()):
            own = [label - first for first, _, elements in found.elements if 0 <= label - first < elements.count]
            if own not in ([], [row]):
                return f"row {row} of its attention stands for token {own[0]}"
    return ""


class Probe:
    """A forward pass over fixed tokens. Arguments of a call replace or extend the probe's own."""

    def __init__(self, lent: "Lent", tensors: dict) -> None:
        self.lent, self.tensors = lent, tensors

    def __call__(self, **options: object) -> "Output":
        """Return the network's output."""
        with self.lent() as network:
            return network(**self.tensors | options)


def probe_of(network: "Network", lend: "Lend" = nullcontext) -> tuple[Probe, tuple[int, int | None]]:
    """Return a probe over random tokens, and its lengths on both sides. Longer windows are checked in every answer."""
    import torch

    config = network.config.get_text_config()
    draw = torch.Generator().manual_seed(0)
    sides = {"input_ids": min(PROBE, longest(network))}
    if network.config.is_encoder_decoder:
        sides["decoder_input_ids"] = max(PROBE_TARGET, sides["input_ids"] - 11)
    known = {name: getattr(getattr(network.config, half, None), "vocab_size", config.vocab_size)
             for name, half in zip(("input_ids", "decoder_input_ids"), HALVES, strict=True)}
    ids = {name: torch.randint(known[name] // 10, known[name], (count,), generator=draw).tolist()
           for name, count in sides.items()}
    tensors = as_tensors(network, {**ids, "attention_mask": [1] * sides["input_ids"]})
    return Probe(partial(lend, network), tensors), (sides["input_ids"], sides.get("decoder_input_ids"))


def close(one: "Tensor", other: "Tensor", same: float = SAME, roundings: float = ROUNDINGS) -> bool:
    """Return whether two outputs are equal up to rounding in their dtype."""
    import torch

    share = max(same, roundings * torch.finfo(one.dtype).eps)
    if one.shape != other.shape or not torch.equal(finite := one.isfinite(), other.isfinite()):
        return False
    size = float(one.masked_fill(~finite, 0).abs().max())
    return torch.allclose(other[finite], one[finite], rtol=0, atol=share * size)


def _config(folder: Path) -> "Config":
    from transformers import AutoConfig

    with blame(folder / "config.json", "the configuration of a Transformer"):
        accounting.check_type(folder, files.read_json(folder / "config.json"))
        config = AutoConfig.from_pretrained(folder, **LOAD_OPTIONS)
    config.return_dict = True   # outputs are read by name
    crossed = [getattr(getattr(config, HALVES[1], None), name, False) for name in ("is_decoder", "add_cross_attention")]
    if config.model_type == "encoder-decoder" and not all(crossed):
        raise UserError(f"The decoder in {folder / 'config.json'} is set up without cross-attention, which an "
                        f"encoder–decoder needs; set its is_decoder and add_cross_attention to true.")
    try:
        config.use_cache = config.get_text_config().use_cache = False
    except AttributeError:   # a part that the configuration's class does not declare
        raise UserError(f"{folder / 'config.json'} describes an inner text model, which {type(config).__name__} of "
                        f"transformers does not declare; {files.CORRECT}.") from None
    except ValueError:   # several texts, as in MusicGen
        raise UserError(f"{folder} is a model of type {config.model_type!r}, which has several text models, and "
                        f"Clearhead does not know which to show; {accounting.LOOK}.") from None
    return config


def _refuse_what_weights_do_not_hold(network_class: "type[Network]", config: "Config",
                                     weights: Weights, title: str, dtype: str) -> None:
    """Raise UserError if the configured network has far more layers than the weights, or needs more memory than is
    free."""
    import torch

    layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
    if isinstance(layers, int) and layers > len(weights.tensors) + SHARED:
        raise UserError(f"The configuration of {title} describes {layers:,} layers, but its weights hold "
                        f"{len(weights.tensors):,} tensors; copy or download the model again.")
    with torch.device("meta"), no_weights():
        network = made_of(network_class, copy.deepcopy(config), "eager")
    tied = tied_names(network)
    needed = sum(parameter.numel() for name, parameter in network.named_parameters() if name not in tied)
    memory.refuse_weights(needed, title, dtype)


def _report(place: "ModelFiles", network: "Network", head: str, reasons: tuple[str, ...], forward: Probe,
            lengths: tuple[int, int | None]) -> bool:
    """Switch to the weights that the model itself reports, check them on the probe, and return whether tokens attend to
    later ones. Raises UserError if the check fails."""
    import torch

    ids = forward.tensors.get("input_ids")   # a picture's patches have no order
    try:
        if any("sink" in name for name, _ in network.named_parameters()):
            raise Unsupported("it has sinks, whose share may be spread over the weights it reports")
        make_eager(network)
        with torch.no_grad():
            ahead = ids is None or (lengths[1] is None
                                    and verify.looks_ahead(lambda changed: forward(input_ids=changed), ids))
            if ahead and head == "next" and network.config.model_type not in PERMUTED:
                raise Unsupported("it predicts the next token, yet its output changes with tokens that come later")
            verify.layers_of(forward(output_attentions=True), lengths, ahead)
    except Exception as error:
        if ids is not None and accounting.unread(network.config) and not isinstance(error, Unsupported):
            raise accounting.not_alone(place.title, network.config) from error
        found = "" if isinstance(error, Unsupported) else "asked for its weights, it fails: "
        said = ", and ".join(dict.fromkeys((reasons[-1], found + first_line(error, 200))))
        raise UserError(f"{place.title} was refused because its picture cannot be trusted: {said}; choose another "
                        f"model.") from error
    return ahead


def _shapes_of(network: "Network") -> list[memory.Shape]:
    """Return the sizes of the attention layers, as stated in the configuration."""
    config = network.config.get_text_config()
    heads = getattr(config, "num_attention_heads", None) or 1
    width = getattr(config, "hidden_size", None) or heads
    layers = getattr(config, "num_hidden_layers", None) or 1
    shape = memory.Shape(heads, heads, width // heads, width // heads)
    return [shape] * (layers * (3 if network.config.is_encoder_decoder else 1))


def plan_of(network: "Network", card: Card, head: str, examined: Examined) -> memory.Plan:
    """Return the sizes that determine the memory and time of this network's answers."""
    config = network.config.get_text_config()
    inner = getattr(config, "intermediate_size", None) or getattr(config, "d_ff", None) or 4 * card.d_model
    inner = max(inner) if isinstance(inner, list) else inner  # one per layer in Gemma 3n
    keeps_all = "logits_to_keep" not in inspect.signature(network.forward).parameters
    every_token = head in ("mask", "target") or (head == "next" and keeps_all)
    return memory.Plan(card.parameters, 8 * card.d_model + 3 * inner, 2 * config.vocab_size if every_token else 0,
                       tuple(examined.shapes), examined.wiring is None)


UNLIMITED = 1_000_000  # for models with unlimited positions, limited only by memory and time
POSITION_NAMES = re.compile(r"(position|pos_emb|wpe)")


def card_of(place: "ModelFiles", network: "Network", tokenizer: "Tokenizer | str", examined: Examined,
            dtype: str) -> Card:
    """Build the card of a loaded network. tokenizer: from transformers, or a description of how a picture is split;
    dtype: how the weights are stored and computed."""
    config = network.config.get_text_config()
    slots = () if examined.wiring is None else tuple(examined.wiring.slots.values())
    heads, kv_heads, d_head = max((shape.heads, shape.kv_heads, shape.d_k) for shape in examined.shapes)
    notes = (place.entry.note if place.entry else "", source_of(place),
             Adapter(place.adapter).note() if place.adapter else "",
             side_of(network.config, frozenset(slot.kind for slot in slots)))
    return Card(
        id=place.id, title=place.title, revision=place.revision,
        architecture=f"{type(network).__name__} ({config.model_type})",
        parameters=memory.count_parameters(network),
        d_model=int(getattr(config, "hidden_size", heads * d_head)), d_head=d_head,
        layers=_layers(network.config, len(examined.shapes)), heads=heads, kv_heads=kv_heads,
        positions=positions_of(network),
        tokenizer=tokenizer if isinstance(tokenizer, str) else _tokenizer(tokenizer), licence=place.licence,
        max_tokens=longest(network), dtype=dtype, note=" ".join(filter(None, notes)))


def source_of(place: "ModelFiles") -> str:
    """Return a sentence on the source of the weights of the model and its adapter: the hub's repository, its bot, or a
    package if the hub was unreachable; empty for local files."""
    said = []
    for folder in place.folders:
        origin = origin_of(folder)
        proposal = origin.get("weights")
        if place.entry is not None and place.entry.package is not None and origin.get("source") == "package":
            said.append(place.entry.package.note)
        elif isinstance(proposal, dict):
            said.append(f"The weights of {origin.get('id')} come from pull request {proposal.get('pull_request')} of "
                        f"the hub's conversion bot {proposal.get('author')}, as the repository has only pickled ones.")
        elif origin.get("commit"):
            said.append(f"The weights of {origin.get('id')} come from its repository (commit "
                        f"{str(origin['commit'])[:SHOWN]}).")
    return " ".join(said)


def side_of(config: "Config", shown: frozenset[Kind]) -> str:
    """Return a sentence about an encoder that is not shown because it uses blocks, global tokens or summaries instead
    of one softmax over the text, or ""."""
    if getattr(config, "add_cross_attention", False) and shown and Kind.CROSS not in shown:
        return "Its cross-attention needs the output of an encoder, which this model does not have, and is not shown."
    if not config.is_encoder_decoder or not shown or Kind.SELF in shown:
        return ""
    return (f"The encoder of a {config.model_type} model has an attention of its own and is not shown; the decoder's "
            f"and the cross-attention are.")


def _layers(config: "Config", probed: int) -> int:
    halves = [int(getattr(getattr(config, half, None), "num_hidden_layers", None) or 0) for half in HALVES]
    if all(halves):
        return sum(halves)
    count = getattr(config.get_text_config(), "num_hidden_layers", None) or probed
    if not config.is_encoder_decoder:
        return count
    return count + (getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None) or 0)


def _tokenizer(tokenizer: "Tokenizer") -> str:
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if model is not None:
        kind = type(model).__name__
    else:
        kind = "SentencePiece" if hasattr(tokenizer, "sp_model") else "its own"
    return f"{kind}, {len(tokenizer):,} pieces"


def language_part(network: "Network") -> str:
    """Return the name of the part of a network around its embeddings of tokens that has no convolution over pictures:
    the language model of one that also reads pictures. It is "" for the whole network."""
    from torch import nn

    with suppress(NotImplementedError, AttributeError):   # CANINE has no embedding table
        embedding = network.get_input_embeddings()
        parts = next((name for name, each in network.named_modules() if each is embedding), "").split(".")
        for length in range(len(parts)):
            name = ".".join(parts[:length])
            if not any(isinstance(each, nn.Conv2d | nn.Conv3d) for each in network.get_submodule(name).modules()):
                return name
    return ""


def positions_of(network: "Network") -> str:
    """Describe in words how the model encodes token order."""
    config = network.config.get_text_config()
    schemes = []
    for name, module in network.get_submodule(language_part(network)).named_modules():
        kind, last = type(module).__name__, name.rsplit(".", 1)[-1]
        if "Rotary" in kind:
            schemes.append("rotary")
        elif "relative_attention_bias" in last or "rel_bias" in last:
            schemes.append("relative (a learned bias by distance)")
        elif last == "rel_embeddings":
            schemes.append("relative (disentangled)")
        elif "Sinusoidal" in kind:
            schemes.append("sinusoidal")
        elif POSITION_NAMES.search(last) and hasattr(module, "num_embeddings"):
            schemes.append("learned")
    if getattr(config, "rotary_dim", None):
        schemes.append("rotary")
    if getattr(config, "alibi", False) or config.model_type in ("bloom", "mpt"):
        schemes = ["ALiBi (a fixed bias by distance)"]
    if config.model_type == "xlnet":
        schemes = ["relative (Transformer-XL)"]
    return " and ".join(dict.fromkeys(schemes)) or "none of its own"


def longest(network: "Network") -> int:
    """Return the model's maximum number of tokens, or `UNLIMITED`."""
    config = network.config.get_text_config()
    reach = [_reach(module, config) for name, module in network.get_submodule(language_part(network)).named_modules()
             if POSITION_NAMES.search(name.rsplit(".", 1)[-1]) and hasattr(module, "num_embeddings")]
    if reach:
        return min(reach)
    if re.search("relative|ALiBi", positions_of(network)):
        return UNLIMITED
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "max_sequence_length", None)
               or UNLIMITED)


def _reach(embedding: "nn.Embedding", config: "Config") -> int:
    """Return how many rows of a position table a text can use: BART starts at row 2, RoBERTa after the padding row."""
    if "Sinusoidal" in type(embedding).__name__:
        return int(getattr(config, "max_position_embeddings", embedding.num_embeddings))
    skipped = getattr(embedding, "offset", None)
    if skipped is None:
        skipped = 0 if embedding.padding_idx is None else embedding.padding_idx + 1
    return embedding.num_embeddings - int(skipped)
