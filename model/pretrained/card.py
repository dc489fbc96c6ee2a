"""What a model is, told from its configuration and its modules rather than from its name."""
import re
from collections import Counter
from dataclasses import dataclass

from model.core.query import Kind
from model.core.record import Card

UNLIMITED = 1_000_000  # for models whose positions have no end; memory and time set their limit
POSITION_NAMES = re.compile(r"(position|pos_emb|wpe)")
ATTENTIONLESS = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"})


@dataclass(frozen=True)
class ProbeFacts:
    """What loading and the probe told. shapes: (heads, key/value heads, d_k) of each attention; layers and kinds: the
    numbers and kinds of those shown, none if the model itself reports them; probe: its length in tokens; dtype: how the
    weights are stored and computed."""

    shapes: tuple[tuple[int, int, int], ...]
    layers: frozenset[int]
    kinds: frozenset[Kind]
    probe: int
    dtype: str


def card_of(place, fingerprint: str, network, tokenizer, seen: ProbeFacts) -> Card:
    """The card of a loaded network."""
    config = network.config.get_text_config()
    entry = place.entry
    heads, kv_heads, d_head = max(seen.shapes)
    return Card(
        id=place.id, title=place.title, revision=fingerprint,
        architecture=f"{type(network).__name__} ({config.model_type})",
        parameters=sum(each.numel() for each in network.parameters()),
        d_model=int(getattr(config, "hidden_size", heads * d_head)), d_head=d_head,
        layers=_layers(config, len(seen.shapes)), heads=heads, kv_heads=kv_heads, positions=positions_of(network),
        tokenizer=_tokenizer(tokenizer),
        licence=place.licence, max_tokens=longest(network), dtype=seen.dtype,
        note=" ".join(note for note in (entry.note if entry else "", others_of(config, seen.layers),
                                        side_of(config, seen.kinds),
                                        window_of(config, seen.probe)) if note))


def others_of(config, shown: frozenset[int]) -> str:
    """What a hybrid model's other layers are, which have no softmax attention and so are not shown."""
    types = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or []
    others = Counter(str(each).replace("_", " ") for index, each in enumerate(types) if index not in shown)
    if not others or not shown:
        return ""
    return f"{sum(others.values())} of its {len(types)} layers have no softmax attention and are not shown: " + ", ".join(
        f"{count} {name}" for name, count in others.items()) + "."


def side_of(config, shown: frozenset[Kind]) -> str:
    """That an encoder's attention is not shown where it is of another form: blocks, globals or summaries instead of one
    softmax over the text."""
    if not config.is_encoder_decoder or not shown or Kind.SELF in shown:
        return ""
    return f"The encoder of a {config.model_type} model has an attention of its own and is not shown; the decoder's and the cross-attention are."


def window_of(config, probe: int) -> str:
    """That a window is too long to be tried at load, where it is."""
    window = smallest_window(config)
    if window is None or window < probe:
        return ""
    return f"Its window of {window:,} tokens is longer than the probe at load ({probe} tokens); longer texts are checked on every answer."


def _layers(config, seen: int) -> int:
    count = getattr(config, "num_hidden_layers", None) or seen
    return count + (getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None) or 0
                    if config.is_encoder_decoder else 0)


def _tokenizer(tokenizer) -> str:
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    kind = type(model).__name__ if model is not None else "SentencePiece" if hasattr(
        tokenizer, "sp_model") else "its own"
    return f"{kind}, {len(tokenizer):,} pieces"


def positions_of(network) -> str:
    """How the model knows the order of its tokens, in words."""
    config = network.config.get_text_config()
    found = []
    for name, module in network.named_modules():
        kind, last = type(module).__name__, name.rsplit(".", 1)[-1]
        if "Rotary" in kind:
            found.append("rotary")
        elif "relative_attention_bias" in last or "rel_bias" in last:
            found.append("relative (a learned bias by distance)")
        elif last == "rel_embeddings":
            found.append("relative (disentangled)")
        elif "Sinusoidal" in kind:
            found.append("sinusoidal")
        elif POSITION_NAMES.search(last) and hasattr(module, "num_embeddings"):
            found.append("learned")
    if getattr(config, "rotary_dim", None):
        found.append("rotary")
    if getattr(config, "alibi", False) or config.model_type in ("bloom", "mpt"):
        found = ["ALiBi (a fixed bias by distance)"]
    if config.model_type == "xlnet":
        found = ["relative (Transformer-XL)"]
    return " and ".join(dict.fromkeys(found)) or "none of its own"


def longest(network) -> int:
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


def _reach(embedding, config) -> int:
    """Rows of a table of positions that a text may use: BART starts at row 2, RoBERTa after the row for padding."""
    if "Sinusoidal" in type(embedding).__name__:
        return int(getattr(config, "max_position_embeddings", embedding.num_embeddings))
    skipped = getattr(embedding, "offset", None)
    if skipped is None:
        skipped = 0 if embedding.padding_idx is None else embedding.padding_idx + 1
    return embedding.num_embeddings - int(skipped)


def smallest_window(config) -> int | None:
    """The shortest reach of any layer in tokens, or None if no layer has a window."""
    config = config.get_text_config()
    if getattr(config, "use_sliding_window", None) is False:
        return None
    names = ("sliding_window", "local_attention", "attention_chunk_size", "sliding_window_size", "window_size")
    layers = config.per_layer_config if getattr(config, "num_hidden_layers", None) else ()
    found = [_setting(each, name) for each in (config, *layers) for name in names]
    return min((each for each in found if isinstance(each, int) and each > 0), default=None)


def _setting(config, name: str):
    """A configuration's value; None where it has none, or one for each layer (transformers then raises a
    RuntimeError)."""
    try:
        return getattr(config, name, None)
    except RuntimeError:
        return None
