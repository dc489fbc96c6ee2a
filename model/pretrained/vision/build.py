"""Turn a checked folder into a vision model: load it with transformers, verify it with a probe and find its patches."""
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported, names_of
from clearhead.model.capture.transformers_internals import drawn_anew
from clearhead.model.core.query import Progress, UserError, first_line
from clearhead.model.core.record import Card
from clearhead.model.core.torch_runs import seeded, stop_between_layers
from clearhead.model.pretrained.accounting import TOWERS
from clearhead.model.pretrained.build import (
    SEED,
    Lent,
    Probe,
    build_model,
    card_of,
    examine,
    load_network,
    plan_of,
)
from clearhead.model.pretrained.files import blame
from clearhead.model.pretrained.model import Pooling, PretrainedModel
from clearhead.model.pretrained.tokens import open_tokenizer, tokenizer_folder
from clearhead.model.pretrained.vision.patches import Cut, cut_of
from clearhead.model.pretrained.vision.picture_model import (
    FILES,
    PictureModel,
    TextComparison,
    TwoTowers,
    open_processor,
    prepare,
)

if TYPE_CHECKING:
    from transformers import BaseImageProcessor

    from clearhead.model.pretrained import Network, Tokenizer
    from clearhead.model.pretrained.load import ModelFiles

PROBE_SIDES = 240, 320   # height and width in pixels of the random test picture, before preprocessing
# descriptions of positions in a vision tower, by the names of its parameters and modules
POSITIONS = (("relative_position_bias", "relative (a learned bias by distance in two dimensions)"),
             ("rope", "rotary in two dimensions"), ("position_embedding", "learned, a vector for each patch"),
             ("pos_embed", "learned, a vector for each patch"))


def open_folder(place: "ModelFiles", report: Progress) -> PictureModel | TwoTowers:
    """Load and verify a folder's vision model, like `model.pretrained.build.open_folder` for text models."""
    loaded = load_network(place, "pixel_values", report)
    processor = open_processor(place.folder)
    report(0.7, "verifying against the model's own attention")
    place = replace(place, unapplied=place.unapplied + loaded.unapplied)
    with blame(place.folder / "config.json", "the configuration of these weights"):
        if loaded.network.config.model_type in TOWERS and hasattr(loaded.network, "text_model"):
            readers = processor, open_tokenizer(tokenizer_folder(place.folders))
            return build_towers(place, loaded.network, readers, loaded.dtype)
        return build_picture_model(place, loaded.network, processor, loaded.head, loaded.dtype)


def build_picture_model(place: "ModelFiles", network: "Network", processor: "BaseImageProcessor", head: str,
                        dtype: str = "float32", comparison: TextComparison | None = None,
                        lent: "Lent | None" = None) -> PictureModel:
    """Build the vision model of a network in evaluation mode, verified or at least reported, with its patches measured.
    lent: gives what runs in a pass, by default the network. Raises UserError if its attention cannot be shown
    correctly."""
    lent = lent or partial(nullcontext, network)
    with _refused(place):
        probe = picture_probe(network, processor, lent)
        cut = cut_of(network, probe, probe.tensors["pixel_values"])
    stop_between_layers(network)
    tokens = cut.tokens(*probe.tensors["pixel_values"].shape[2:])
    lengths = len(tokens), None
    examined = examine(place, network, head, probe, lengths)
    if comparison is not None:
        with _refused(place):
            comparison.check(probe.tensors["pixel_values"])
    pooling = Pooling("first" if cut.before else "mean", False) if head == "none" else None
    card = card_of(place, network, _in_words(cut, probe), examined, dtype)
    card = picture_card(card, network, len(tokens))
    names = names_of(network)
    return PictureModel(card, network, None, examined.wiring, "vector" if pooling else head, examined.reasons, names,
                        plan_of(network, card, head, examined), pooling, True, lent, processor, cut, comparison)


def picture_probe(network: "Network", processor: "BaseImageProcessor", lent: "Lent | None" = None) -> Probe:
    """Return a probe over a random picture, preprocessed by the model's own processor."""
    noise = np.random.default_rng(0).integers(0, 256, (*PROBE_SIDES, 3), np.uint8)
    pixels = prepare(processor, noise).pixels.to(network.device, network.dtype)
    return Probe(lent or partial(nullcontext, network), {"pixel_values": pixels})


@contextmanager
def _refused(place: "ModelFiles") -> Iterator[None]:
    """Convert any error that a network or its processor raises on the probe to UserError."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Unsupported as error:
        raise UserError(f"{place.title} was refused because its picture cannot be trusted: {error}; choose another "
                        f"model.") from error
    except Exception as error:
        raise UserError(f"{place.title} was refused because it does not run on a picture from its own processor "
                        f"({first_line(error, 200)}); correct the sizes in its {FILES[0]}, or choose another "
                        f"model.") from error


def _in_words(cut: Cut, probe: Probe) -> str:
    height, width = probe.tensors["pixel_values"].shape[2:]
    rows, columns = cut.tokens(height, width).grid or (0, 0)
    return f"{rows} × {columns} patches of {cut.height} × {cut.width} pixels"


def picture_card(card: Card, network: "Network", tokens: int) -> Card:
    """Return the card with the fields that differ for vision models."""
    names = [name.lower() for name, _ in [*network.named_parameters(), *network.named_modules()]]
    names += [type(module).__name__.lower() for module in network.modules()]
    schemes = dict.fromkeys(words for part, words in POSITIONS if any(part in name for name in names))
    return replace(card, positions=" and ".join(schemes) or "none of its own", max_tokens=tokens)


def build_towers(place: "ModelFiles", network: "Network", readers: "tuple[BaseImageProcessor, Tokenizer]",
                 dtype: str = "float32",
                 lend: "Callable[[Network], AbstractContextManager[Network]]" = nullcontext) -> TwoTowers:
    """Build both towers of a network in evaluation mode, verified separately. readers: its image processor and its
    tokenizer. lend(module): gives a module for a pass."""
    processor, tokenizer = readers
    picture = build_picture_model(place, network.vision_model, processor, "none", dtype,
                                  TextComparison(network, tokenizer, partial(lend, network)),
                                  partial(lend, network.vision_model))
    text = build_model(place, network.text_model, tokenizer, "none", dtype,
                       partial(lend, network.text_model))
    return TwoTowers(picture, text)


def untrained_twin(model: PretrainedModel | TwoTowers, place: "ModelFiles") -> PretrainedModel | TwoTowers:
    """Return an untrained twin of this model: the same architecture, with weights newly initialised from a fixed
    seed."""
    import torch

    one = model.picture if isinstance(model, TwoTowers) else model
    compared = one.comparison if isinstance(one, PictureModel) else None
    with seeded(SEED):
        network = drawn_anew(one.network if compared is None else compared.network)
    network = network.to(place.device, getattr(torch, place.dtype)).eval()
    place = replace(place, title=f"{place.title}, untrained", entry=None, adapter=None, unapplied=one.reasons)
    if isinstance(model, TwoTowers):
        return build_towers(place, network, (model.picture.processor, model.tokenizer), place.dtype)
    if isinstance(model, PictureModel):
        task = "none" if model.pooling else model.task
        return build_picture_model(place, network, model.processor, task, place.dtype)
    return build_model(place, network, model.tokenizer, model.task, place.dtype)
