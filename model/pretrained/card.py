"""What a model is, read from its configuration and its modules rather than from its name."""
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from model.capture.transformers_internals import layer_configs
from model.core.query import Kind
from model.core.record import Card
from model.pretrained.adapters import Adapter
from model.pretrained.catalogue import MARK
from model.pretrained.files import ModelFiles, read_json
from model.pretrained.first_use import SHOWN, origin_of
from model.pretrained.inputs import HALVES

UNLIMITED = 1_000_000  # for models whose positions have no end; memory and time set their limit
POSITION_NAMES = re.compile(r"(position|pos_emb|wpe)")
ATTENTIONLESS = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"})


@dataclass(frozen=True)
class ProbeFacts:
    """What loading and the probe schemes out."""

    shapes: tuple[tuple[int, int, int], ...]   # (heads, key/value heads, d_k) of each attention
    layers: frozenset[int]                     # numbers of the layers shown; none if the model itself reports them
    kinds: frozenset[Kind]                     # of the attention shown; none if the model itself reports it
    probe: int                                 # tokens on the source side
    dtype: str                                 # how the weights are stored and computed with


def card_of(place: ModelFiles, fingerprint: str, network: Any, tokenizer: Any, facts: ProbeFacts) -> Card:
    """The card of a loaded network. tokenizer: of transformers, or words on how a picture is cut."""
    config = network.config.get_text_config()
    heads, kv_heads, d_head = max(facts.shapes)
    notes = (place.entry.note if place.entry else "", source_of(place),
             Adapter(place.adapter).note() if place.adapter else "", others_of(config, facts.layers),
             side_of(network.config, facts.kinds), window_of(config, facts.probe))
    return Card(
        id=place.id, title=place.title, revision=fingerprint,
        architecture=f"{type(network).__name__} ({config.model_type})",
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        d_model=int(getattr(config, "hidden_size", heads * d_head)), d_head=d_head,
        layers=_layers(network.config, len(facts.shapes)), heads=heads, kv_heads=kv_heads,
        positions=positions_of(network),
        tokenizer=tokenizer if isinstance(tokenizer, str) else _tokenizer(tokenizer), licence=place.licence,
        max_tokens=longest(network), dtype=facts.dtype,
        note=" ".join(filter(None, notes)), changed=place.changed)


def source_of(place: ModelFiles) -> str:
    """A sentence on where the weights of the model and of its adapter came from: the package, as the hub could not be
    reached, or the hub's repository or its bot; nothing for a person's own."""
    said = []
    for folder in place.folders:
        mark, origin = folder / MARK, origin_of(folder)
        brought = read_json(mark) if mark.is_file() else {}
        proposal = brought.get("weights")
        if place.entry is not None and place.entry.package is not None and brought.get("source") == "package":
            said.append(place.entry.package.note)
        elif isinstance(proposal, dict):
            said.append(f"The weights of {brought.get('id')} come from pull request {proposal.get('pull_request')} of "
                        f"the hub's conversion bot {proposal.get('author')}, as the repository has only pickled ones.")
        elif origin is not None:
            said.append(f"The weights of {origin[0]} come from its repository (commit {origin[1][:SHOWN]}).")
    return " ".join(said)


def others_of(config: Any, shown: frozenset[int]) -> str:
    """A sentence on a hybrid model's other layers, which have no softmax attention and so are not shown; or nothing."""
    types = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or []
    others = Counter(str(name).replace("_", " ") for index, name in enumerate(types) if index not in shown)
    if not others or not shown:
        return ""
    counts = ", ".join(f"{count} {name}" for name, count in others.items())
    return f"{others.total()} of its {len(types)} layers have no softmax attention and are not shown: {counts}."


def side_of(config: Any, shown: frozenset[Kind]) -> str:
    """A sentence on an encoder whose attention is not shown, as it is of another form: blocks, globals or summaries
    instead of one softmax over the text; or nothing."""
    if getattr(config, "add_cross_attention", False) and shown and Kind.CROSS not in shown:
        return "Its cross-attention needs the output of an encoder, which this model does not have, and is not shown."
    if not config.is_encoder_decoder or not shown or Kind.SELF in shown:
        return ""
    return (f"The encoder of a {config.model_type} model has an attention of its own and is not shown; the decoder's "
            f"and the cross-attention are.")


def window_of(config: Any, probe: int) -> str:
    """A sentence on a window that is too long to be tried at load; or nothing."""
    window = smallest_window(config)
    if window is None or window < probe:
        return ""
    return (f"Its window of {window:,} tokens is longer than the probe at load ({probe} tokens); longer texts are "
            f"checked on every answer.")


def _layers(config: Any, probed: int) -> int:
    halves = [int(getattr(getattr(config, half, None), "num_hidden_layers", None) or 0) for half in HALVES]
    if all(halves):
        return sum(halves)
    count = getattr(config.get_text_config(), "num_hidden_layers", None) or probed
    if not config.is_encoder_decoder:
        return count
    return count + (getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None) or 0)


def _tokenizer(tokenizer: Any) -> str:
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if model is not None:
        kind = type(model).__name__
    else:
        kind = "SentencePiece" if hasattr(tokenizer, "sp_model") else "its own"
    return f"{kind}, {len(tokenizer):,} pieces"


def positions_of(network: Any) -> str:
    """How the model knows the order of its tokens, in words."""
    config = network.config.get_text_config()
    schemes = []
    for name, module in network.named_modules():
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


def longest(network: Any) -> int:
    """How many tokens the model's positions reach; `UNLIMITED` where they have no end."""
    config = network.config.get_text_config()
    reach = [_reach(module, config) for name, module in network.named_modules()
             if POSITION_NAMES.search(name.rsplit(".", 1)[-1]) and hasattr(module, "num_embeddings")]
    if reach:
        return min(reach)
    if "relative" in positions_of(network) or "ALiBi" in positions_of(network):
        return UNLIMITED
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "max_sequence_length", None)
               or UNLIMITED)


def _reach(embedding: Any, config: Any) -> int:
    """Rows of a table of positions that a text may use: BART starts at row 2, RoBERTa after the row for padding."""
    if "Sinusoidal" in type(embedding).__name__:
        return int(getattr(config, "max_position_embeddings", embedding.num_embeddings))
    skipped = getattr(embedding, "offset", None)
    if skipped is None:
        skipped = 0 if embedding.padding_idx is None else embedding.padding_idx + 1
    return embedding.num_embeddings - int(skipped)


def smallest_window(config: Any) -> int | None:
    """The shortest reach of any layer in tokens, or None if no layer has a window."""
    config = config.get_text_config()
    if getattr(config, "use_sliding_window", None) is False:
        return None
    names = ("sliding_window", "local_attention", "attention_chunk_size", "sliding_window_size", "window_size")
    layers = layer_configs(config) if getattr(config, "num_hidden_layers", None) else ()
    settings = [_setting(part, name) for part in (config, *layers) for name in names]
    return min((reach for reach in settings if isinstance(reach, int) and reach > 0), default=None)


def _setting(config: Any, name: str) -> Any:
    """A configuration's value; None where it has none, or one for each layer (transformers then raises a
    RuntimeError)."""
    try:
        return getattr(config, name, None)
    except RuntimeError:
        return None
