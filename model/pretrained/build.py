"""From a checked folder to a `PretrainedModel`: transformers loads it, the probe verifies it."""
import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from model.capture import forward_pass, verify
from model.capture.forward_pass import Unsupported
from model.capture.transformers_internals import head_of, made_of, make_eager, mismatched_tensors
from model.core import memory
from model.core.finite import NotFinite
from model.core.query import Kind, UserError, first_line
from model.core.record import Card
from model.core.threads import stop_between_layers
from model.core.types import Progress
from model.pretrained import accounting, files, predict, recognise
from model.pretrained.adapters import Adapter
from model.pretrained.card import ATTENTIONLESS, ProbeFacts, card_of, longest, smallest_window
from model.pretrained.damage import blame, check_generation, check_weights
from model.pretrained.files import ADAPTER_CONFIG, ModelFiles
from model.pretrained.inputs import HALVES, as_tensors
from model.pretrained.model import PretrainedModel
from model.pretrained.skeleton import refuse_what_weights_do_not_hold
from model.pretrained.tokens import LOAD_OPTIONS, open_tokenizer, tokenizer_folder

PROBE, PROBE_TARGET = 24, 13   # tokens; two different numbers tell the two sides of an encoder–decoder apart
PROBE_COST = 3e12   # operations, about a minute: where a window would take more, every answer is checked instead
SEED = 2017   # of an untrained twin's weights
ADAPTED = "the configuration of this adapter"
PERMUTED = frozenset({"xlnet"})  # decoders that look at later tokens by design, unless a permutation is passed
COMPUTED = {"F32", "I64", "I32", "U8", "BOOL"}   # stored as they are computed with


def open_folder(place: ModelFiles, fingerprint: str, report: Progress) -> PretrainedModel:
    """The model of a folder, loaded and verified. The caller holds the lock, has checked the files and prepared
    transformers. Raises UserError if it cannot be shown."""
    report(0.1, "reading the configuration")
    described = describe(place)
    check_inputs(place, described.config, "input_ids")
    tokenizer = open_tokenizer(tokenizer_folder(place.folders))
    loaded = load_network(place, described, report)
    report(0.7, "verifying against the model's own attention")
    place = replace(place, unapplied=place.unapplied + loaded.unapplied)
    with blame(place.folder / "config.json", "the configuration of these weights"):
        return build_model(place, fingerprint, loaded.network, tokenizer, loaded.head, loaded.dtype)


class Described(NamedTuple):
    """What the files of a folder say of its network."""

    config: Any              # of transformers
    weights: files.Weights   # by their headers


class Loaded(NamedTuple):
    """A network with its weights."""

    network: Any   # of transformers
    head: str      # what it predicts: next, mask, target, label or none
    unapplied: tuple[str, ...]   # clauses on what in the folder changes the model but is not applied
    dtype: str     # how its weights are stored and computed with


def describe(place: ModelFiles) -> Described:
    """The configuration and the headers of the weights. Raises UserError, with the file's name, for damaged ones and
    for weights that do not fit into memory."""
    described = Described(_config(place.folder), files.weights_of(place.folder))
    memory.refuse_weights(described.weights.parameters, place.title)
    return described


def check_inputs(place: ModelFiles, config: Any, argument: str) -> None:
    """Raises UserError for a model that reads something else than this argument of its forward pass."""
    with blame(place.folder / "config.json", "a configuration that a network can be made of"):
        recognise.check_inputs(place.title, config, argument)


def load_network(place: ModelFiles, described: Described, report: Progress) -> Loaded:
    """The network that is described, with its weights. Raises UserError, with the file's name, where it cannot be
    made."""
    report(0.2, "loading the weights")
    return Loaded(*_network(place, *described), dtype_of(described.weights.dtypes))


def dtype_of(stored: tuple[str, ...]) -> str:
    """How the weights are computed with, and how they are stored where that differs."""
    return "float32" if set(stored) <= COMPUTED else f"float32, stored as {' and '.join(stored)}"


def build_model(place: ModelFiles, fingerprint: str, network: Any, tokenizer: Any, head: str,
                dtype: str = "float32") -> PretrainedModel:
    """The model of a loaded network, verified or at least reported. Raises UserError if its picture cannot be
    trusted."""
    network.eval()
    stop_between_layers(network)
    forward, lengths = probe_of(network)
    examined = examine(place, network, head, forward, lengths)
    pooling = next(filter(None, map(predict.pooling_of, reversed(place.folders))), None)
    card = card_of(place, fingerprint, network, tokenizer, facts_of(examined, lengths[0], dtype))
    names = {id(module): name for name, module in network.named_modules()}
    return PretrainedModel(card, network, tokenizer, examined.wiring, "vector" if pooling else head, examined.reasons,
                           names, plan_of(network, card, head, examined), pooling, examined.looks_ahead)


class Examined(NamedTuple):
    """What the probe found."""

    wiring: verify.Wiring | None   # None where the capture cannot follow: reported weights are shown then
    looks_ahead: bool              # of reported weights: whether they are those of an encoder
    reasons: tuple[str, ...]       # clauses on why pictures are reported and not verified
    shapes: list[memory.Shape]     # of the attention layers


def examine(place: ModelFiles, network: Any, head: str, forward: "Probe", lengths: tuple[int, int | None]) -> Examined:
    """Whether the network's picture is right: verified or at least reported. Raises UserError if it cannot be
    trusted."""
    wiring: verify.Wiring | None = None
    reasons: tuple[str, ...] = ()
    looks_ahead = False
    try:
        wiring = verify.wire(network, forward, lengths)
        reasons = wiring.reasons
    except Unsupported as error:
        reasons = (str(error),)
    except NotFinite as error:
        raise UserError(f"{place.title} is not opened, as its weights make NaN or infinity {error.where}; copy or "
                        f"download them again, or choose another model.") from error
    shapes = [] if wiring is None else list(wiring.shapes.values())
    if reasons:
        wiring, looks_ahead = None, _report(place, network, head, reasons, forward, lengths)
        shapes = _shapes_of(network)
    causal = not looks_ahead if wiring is None else wiring.has(Kind.CAUSAL)
    reasons += place.unapplied + accounting.follows_is_causal(network.config, causal)
    return Examined(wiring, looks_ahead, tuple(dict.fromkeys(reasons)), shapes)


def facts_of(examined: Examined, length: int, dtype: str) -> ProbeFacts:
    """What the card says of a probe of this many tokens, and of weights of this type."""
    slots = () if examined.wiring is None else tuple(examined.wiring.slots.values())
    return ProbeFacts(tuple((shape.heads, shape.kv_heads, shape.d_k) for shape in examined.shapes),
                      frozenset(slot.index for slot in slots), frozenset(slot.kind for slot in slots), length, dtype)


class Probe:
    """A forward pass over the same tokens each time; what it is called with replaces or adds to its arguments."""

    def __init__(self, network: Any, tensors: dict) -> None:
        self.network, self.tensors = network, tensors

    def __call__(self, **options: Any) -> Any:
        """What the network returns."""
        return self.network(**self.tensors | options)


def probe_of(network: Any) -> tuple[Probe, tuple[int, int | None]]:
    """A forward pass over random tokens, longer than the smallest window if that is affordable, and its lengths on both
    sides."""
    import torch

    config = network.config.get_text_config()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    wanted = (smallest_window(config) or 0) + 8
    length = max(PROBE, wanted if 4 * parameters * wanted < PROBE_COST else 0)
    draw = torch.Generator().manual_seed(0)
    sides = {"input_ids": min(length, longest(network))}
    if network.config.is_encoder_decoder:
        sides["decoder_input_ids"] = max(PROBE_TARGET, sides["input_ids"] - 11)
    known = {name: getattr(getattr(network.config, half, None), "vocab_size", config.vocab_size)
             for name, half in zip(("input_ids", "decoder_input_ids"), HALVES, strict=True)}
    ids = {name: torch.randint(known[name] // 10, known[name], (count,), generator=draw).tolist()
           for name, count in sides.items()}
    tensors = as_tensors(network, {**ids, "attention_mask": [1] * sides["input_ids"]})
    return Probe(network, tensors), (sides["input_ids"], sides.get("decoder_input_ids"))


def _config(folder: Path) -> Any:
    from transformers import AutoConfig

    recognise.check_type(folder, files.read_json(folder / "config.json"))
    with blame(folder / "config.json", "the configuration of a Transformer"):
        config = AutoConfig.from_pretrained(folder, **LOAD_OPTIONS)
    if config.model_type in ATTENTIONLESS:
        raise recognise.no_attention(folder.name, config.model_type)
    config.use_cache = config.get_text_config().use_cache = False
    return config


def _network(place: ModelFiles, config: Any, weights: files.Weights) -> tuple[Any, str, tuple[str, ...]]:
    """The network as its architecture says, what its head predicts, and clauses on what is not applied."""
    import torch
    import transformers

    with blame(place.folder / "config.json", "a configuration that a network can be made of"):
        network_class = accounting.architecture_of(config) or transformers.AutoModel
        adapter = None if place.adapter is None else Adapter(place.adapter)
        if adapter is not None:
            with blame(adapter.folder / ADAPTER_CONFIG, ADAPTED):
                named = adapter.architecture(network_class.__name__, config)
            network_class = getattr(transformers, named, network_class)
        refuse_what_weights_do_not_hold(lambda: made_of(network_class, copy.deepcopy(config), "eager"),
                                        weights.parameters, place.title)
    options = {"config": config, "use_safetensors": True, "dtype": torch.float32, "output_loading_info": True,
               "ignore_mismatched_sizes": True, **LOAD_OPTIONS,
               # where peft is installed, transformers would put an adapter into the network by itself
               "adapter_kwargs": {"subfolder": "none"}}
    with _quantised(place, config), blame(weights.files[0], "the weights of what config.json describes"):
        try:
            network, info = network_class.from_pretrained(
                place.folder, attn_implementation=forward_pass.IMPLEMENTATION, **options)
        except (KeyError, ValueError):
            network, info = network_class.from_pretrained(place.folder, attn_implementation="eager", **options)
        replaced = set() if adapter is None else adapter.replaced(network)
        check_weights(place, weights, network,
                      [each for each in mismatched_tensors(info) if each[0] not in replaced])
        check_generation(place.folder, network)
    head = head_of(type(network).__name__)
    # without its pooler a model has the same attention, but an adapter's classifier has nothing to classify
    missing = sorted(name for name in info["missing_keys"] if name not in replaced
                     and ("pooler" not in name or (adapter is not None and head == "label")))
    if missing:
        raise UserError(f"{place.folder} lacks {len(missing)} of the model's tensors, {missing[0]} first; copy or "
                        f"download the model again.")
    if adapter is not None:
        with blame(adapter.folder / ADAPTER_CONFIG, ADAPTED):
            adapter.merge(network)
    with blame(place.folder / "config.json", "a configuration of which each key is accounted for"):
        clauses = accounting.unapplied(place.folders, config, network, info["unexpected_keys"])
    return network, head, clauses


@contextmanager
def _quantised(place: ModelFiles, config: Any) -> Iterator[None]:
    """Says of weights that are quantised, and cannot be loaded, that this is why."""
    try:
        yield
    except UserError as error:
        how = getattr(config, "quantization_config", None)
        if how is None or error.__cause__ is None:
            raise
        method = how.get("quant_method", "in no way that is named") if isinstance(how, dict) else how
        raise UserError(f"{place.title} is quantised ({str(method)[:40]}, says the quantization_config of its "
                        f"config.json), and such weights cannot be opened here ({first_line(error.__cause__, 160)}); "
                        f"choose the same model before it was quantised.") from error


def _report(place: ModelFiles, network: Any, head: str, reasons: tuple[str, ...], forward: Probe,
            lengths: tuple[int, int | None]) -> bool:
    """Switches to the weights that the model itself reports and checks them on the probe; gives whether they look
    ahead. Raises UserError if they fail."""
    import torch

    ids = forward.tensors.get("input_ids")   # a picture's patches have no order in which to look ahead
    try:
        if any("sink" in name for name, _ in network.named_parameters()):
            raise Unsupported("it has sinks, whose share what it reports may be spread over the rest")
        make_eager(network)
        with torch.inference_mode():
            ahead = ids is None or (lengths[1] is None
                                    and verify.looks_ahead(lambda changed: forward(input_ids=changed), ids))
            if ahead and head == "next" and network.config.model_type not in PERMUTED:
                raise Unsupported("it predicts the next token, yet its output changes with tokens that come later")
            verify.layers_of(forward(output_attentions=True), lengths, ahead)
    except Exception as error:
        if not recognise.has_attention(network):
            raise recognise.no_attention(place.title, network.config.model_type) from error
        if not _runs(forward) and ids is not None:
            raise recognise.not_shown(place.title, network.config.model_type, type(network)) from error
        found = "" if isinstance(error, Unsupported) else "asked for its weights, it fails: "
        said = ", and ".join(dict.fromkeys((reasons[-1], found + first_line(error, 200))))
        raise UserError(f"{place.title} is refused, as no picture of it can be trusted: {said}; choose another "
                        f"model.") from error
    return ahead


def _runs(forward: Probe) -> bool:
    """Whether the network runs on a text alone."""
    import torch

    try:
        with torch.inference_mode():
            forward()
    except Exception:
        return False
    return True


def _shapes_of(network: Any) -> list[memory.Shape]:
    """The sizes of the attention layers as the configuration has them."""
    config = network.config.get_text_config()
    heads = getattr(config, "num_attention_heads", None) or 1
    width = getattr(config, "hidden_size", None) or heads
    layers = getattr(config, "num_hidden_layers", None) or 1
    shape = memory.Shape(heads, heads, width // heads, width // heads)
    return [shape] * (layers * (3 if network.config.is_encoder_decoder else 1))


def plan_of(network: Any, card: Card, head: str, examined: Examined) -> memory.Plan:
    """What the size of an answer of this network depends on."""
    config = network.config.get_text_config()
    inner = getattr(config, "intermediate_size", None) or getattr(config, "d_ff", None) or 4 * card.d_model
    inner = max(inner) if isinstance(inner, list) else inner  # one for each layer, in Gemma 3n
    keeps_all = "logits_to_keep" not in inspect.signature(network.forward).parameters
    every_token = head in ("mask", "target") or (head == "next" and keeps_all)
    return memory.Plan(card.parameters, 8 * card.d_model + 3 * inner, 2 * config.vocab_size if every_token else 0,
                       tuple(examined.shapes), examined.wiring is None)
