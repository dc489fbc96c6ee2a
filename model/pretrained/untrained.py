"""The untrained twin of a model: the same architecture and tokenizer with random weights, for what architecture alone
explains."""
from dataclasses import replace
from typing import Any

from model.capture.transformers_internals import drawn_anew
from model.core.threads import seeded
from model.pretrained.files import ModelFiles

SUFFIX = "~untrained"
SEED = 2017


def untrained_twin(model: Any, place: ModelFiles, fingerprint: str) -> Any:
    """A `PretrainedModel` like `model` whose weights are drawn anew as its own family initialises them, with a fixed
    seed."""
    from model.pretrained.build import build_model

    with seeded(SEED):
        network = drawn_anew(model.network)
    place = replace(place, title=f"{place.title}, untrained", entry=None, adapter=None,
                    unapplied=model.reasons)
    return build_model(place, fingerprint, network.float(), model.tokenizer, model.head)
