"""What a model is, told from its configuration and its modules."""
from model.pretrained.verify import Wiring
from model.record import Card


def card_of(place, fingerprint: str, network, tokenizer, wiring: Wiring) -> Card:
    """The card of a loaded network."""
    config = network.config.get_text_config()
    entry = place.entry
    heads = config.num_attention_heads
    d_head = getattr(config, "head_dim", None) or config.hidden_size // heads
    return Card(
        id=place.id, title=entry.title if entry else place.id, revision=fingerprint, architecture=type(network).__name__,
        parameters=sum(each.numel() for each in network.parameters()), d_model=config.hidden_size, d_head=d_head, layers=config.num_hidden_layers,
        heads=heads, kv_heads=getattr(config, "num_key_value_heads", None) or heads, positions=positions_of(network, config),
        tokenizer=type(tokenizer).__name__, licence=entry.licence if entry else "not stated", max_tokens=longest(network, config),
        note=entry.note if entry else "")


def positions_of(network, config) -> str:
    """The scheme by which the model knows positions, in words."""
    return "learned"


def longest(network, config) -> int:
    """How many tokens the model's positions reach."""
    return config.max_position_embeddings
