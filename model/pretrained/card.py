"""What a model is, told from its configuration and its modules rather than from its name."""
import re

from model.record import Card

UNLIMITED = 1_000_000  # for models whose positions have no end; memory and time set their limit
POSITION_NAMES = re.compile(r"(position|pos_emb|wpe)")
ATTENTIONLESS = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv", "xlstm"})


def card_of(place, fingerprint: str, network, tokenizer, shapes: list[tuple[int, int, int]]) -> Card:
    """The card of a loaded network. shapes: (heads, key/value heads, d_k) of each attention layer that was seen."""
    config = network.config.get_text_config()
    entry = place.entry
    heads, kv_heads, d_head = max(shapes)
    return Card(
        id=place.id, title=place.title, revision=fingerprint, architecture=f"{type(network).__name__} ({config.model_type})",
        parameters=sum(each.numel() for each in network.parameters()), d_model=int(getattr(config, "hidden_size", heads * d_head)), d_head=d_head,
        layers=_layers(config, len(shapes)), heads=heads, kv_heads=kv_heads, positions=positions_of(network), tokenizer=_tokenizer(tokenizer),
        licence=place.licence, max_tokens=longest(network), note=entry.note if entry else "")


def _layers(config, seen: int) -> int:
    count = getattr(config, "num_hidden_layers", None) or seen
    return count + (getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None) or 0 if config.is_encoder_decoder else 0)


def _tokenizer(tokenizer) -> str:
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    kind = type(model).__name__ if model is not None else "SentencePiece" if hasattr(tokenizer, "sp_model") else "its own"
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
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "max_sequence_length", None) or UNLIMITED)


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
    found = [getattr(config, name, None) for name in names]
    return min((each for each in found if isinstance(each, int) and each > 0), default=None)
