"""Turn a checked folder into a vision model: load it with transformers, verify it with a probe and find its patches."""
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported, names_of
from clearhead.model.capture.signature import settings_in
from clearhead.model.capture.transformers_internals import ATTENTION, drawn_anew
from clearhead.model.core.query import Progress, UserError, first_line
from clearhead.model.core.record import Card
from clearhead.model.core.torch_runs import seeded, stop_between_layers
from clearhead.model.pretrained.accounting import TOWERS, unread
from clearhead.model.pretrained.build import (
    PROBE_TARGET,
    SEED,
    Lent,
    Probe,
    build_model,
    card_of,
    close,
    examine,
    language_part,
    load_network,
    plan_of,
)
from clearhead.model.pretrained.files import blame
from clearhead.model.pretrained.model import UNSEEN, Pooling, PretrainedModel
from clearhead.model.pretrained.tokens import open_tokenizer, tokenizer_folder
from clearhead.model.pretrained.vision.embedding import picture_tokens
from clearhead.model.pretrained.vision.picture_model import (
    FILES,
    PictureModel,
    TextComparison,
    TwoTowers,
    open_processor,
    prepare,
)
from clearhead.model.pretrained.vision.prompt_model import PromptModel, Reader, open_reader

if TYPE_CHECKING:
    from transformers import BaseImageProcessor

    from clearhead.model.pretrained import Network, Tokenizer
    from clearhead.model.pretrained.load import ModelFiles

PROBE_SIDES = 240, 320   # height and width in pixels of the random test picture, before preprocessing
# descriptions of positions in a vision tower, by the names of its parameters and modules
POSITIONS = (("relative_position_bias", "relative (a learned bias by distance in two dimensions)"),
             ("rope", "rotary in two dimensions"), ("position_embedding", "learned, a vector for each patch"),
             ("pos_embed", "learned, a vector for each patch"))


def open_folder(place: "ModelFiles", report: Progress) -> PretrainedModel | TwoTowers:
    """Load and verify a folder's vision model or vision–language model, like `model.pretrained.build.open_folder` for
    text models."""
    prompt = "prompt" in place.reads
    loaded = load_network(place, "input_ids" if prompt else "pixel_values", report)
    network, dtype = loaded.network, loaded.dtype
    report(0.7, "verifying against the model's own attention")
    place = replace(place, unapplied=place.unapplied + loaded.unapplied)
    with blame(place.folder / "config.json", "the configuration of these weights"):
        if prompt:
            return build_prompted(place, network, open_tokenizer(tokenizer_folder(place.folders)),
                                  lambda: Reader.of(network, open_reader(place.folder, network.config)), dtype)
        processor = open_processor(place.folder)
        if network.config.model_type in TOWERS and hasattr(network, "text_model"):
            readers = processor, open_tokenizer(tokenizer_folder(place.folders))
            return build_towers(place, network, readers, dtype)
        return build_picture_model(place, network, processor, loaded.head, dtype)


def build_picture_model(place: "ModelFiles", network: "Network", processor: "BaseImageProcessor", head: str,
                        dtype: str = "float32", comparison: TextComparison | None = None,
                        lent: "Lent | None" = None) -> PictureModel:
    """Build the vision model of a network in evaluation mode, verified or at least reported, with its patches measured.
    lent: gives what runs in a pass, by default the network. Raises UserError if its attention cannot be shown
    correctly."""
    lent = lent or partial(nullcontext, network)
    with _refused(place):
        probe = picture_probe(network, processor, lent)
        tokens = picture_tokens(lent, probe.tensors["pixel_values"])
    stop_between_layers(network)
    size = height, width = tuple(probe.tensors["pixel_values"].shape[2:])
    lengths = len(tokens), None
    examined = examine(place, network, head, probe, lengths)
    if comparison is not None:
        with _refused(place):
            comparison.check(probe.tensors["pixel_values"])
    pooling = Pooling("first" if tokens.special[0] else "mean", False) if head == "none" else None
    rows, columns = tokens.grid or (0, 0)
    box = tokens.boxes[tokens.patches[0]]
    assert box is not None
    words = (f"{rows} × {columns} patches of {round((box.bottom - box.top) * height)} × "
             f"{round((box.right - box.left) * width)} pixels")
    card = card_of(place, network, words, examined, dtype)
    card = picture_card(card, network, len(tokens))
    names = names_of(network)
    return PictureModel(card, network, None, examined.wiring, "vector" if pooling else head, examined.reasons, names,
                        plan_of(network, card, head, examined), pooling, True, False, lent, processor, comparison,
                        {size: tokens})


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


def build_prompted(place: "ModelFiles", network: "Network", tokenizer: "Tokenizer",
                   reader: Callable[[], Reader], dtype: str = "float32",
                   lent: "Lent | None" = None) -> PretrainedModel | TwoTowers:
    """Build the vision–language model of a network in evaluation mode, verified or at least reported: to read texts
    with a picture, and alone, or only one of these. reader: returns how it reads pictures. Raises UserError if it can
    be shown with neither."""
    lent, alone = lent or partial(nullcontext, network), None
    head = "target" if network.config.is_encoder_decoder else "next" if network.can_generate() else "none"
    with suppress(UserError):   # else it does not run without a picture
        alone = build_model(replace(place, unapplied=place.unapplied + unread(network.config)), network, tokenizer,
                            head, dtype, lent)
    own = [settings.get(ATTENTION) for settings in settings_in(network)]
    try:
        seeing = _build_seeing(place, network, reader, head, dtype, lent)
    except UserError as error:
        if alone is None:
            raise
        for settings, attention in zip(settings_in(network), own, strict=True):
            settings[ATTENTION] = attention
        return replace(alone, reasons=(*alone.reasons, f"{UNSEEN}: {first_line(error, 300).rstrip('.')}"))
    # both run in one network, which has one implementation of attention
    same = own == [settings.get(ATTENTION) for settings in settings_in(network)]
    return TwoTowers(seeing, alone) if alone and same else seeing


def _build_seeing(place: "ModelFiles", network: "Network", open_it: Callable[[], Reader], head: str, dtype: str,
                  lent: Lent) -> PromptModel:
    with _refused(place), lent():
        reader = open_it()
        probe, lengths = prompt_probe(reader, lent)
    with reader.last.kept():
        whole = build_model(place, network, reader.processor.tokenizer, head, dtype, lent, (probe, lengths),
                            language_part(network))
    own = {name: getattr(whole, name) for name in PretrainedModel.__dataclass_fields__}
    made = PromptModel(**own, reader=reader, follows={})
    return made if network.config.is_encoder_decoder else _continued(made, probe.tensors)


def _continued(made: PromptModel, tensors: dict[str, Any]) -> PromptModel:
    """Return the model with the arguments of tokens behind a prompt, such as their types, with which these do not
    change how the prompt is read: it was not when the model wrote them."""
    import torch

    prompt = tensors["input_ids"]
    counted = [name for name, each in tensors.items() if each.shape == prompt.shape
               and name not in ("input_ids", "attention_mask")]
    with torch.no_grad():
        alone = made.call(tensors, every=True).logits[0, -1]
        for follows in ({}, *({name: value} for name in counted for value in (0, 1))):
            one = replace(made, follows=follows)
            longer = one.call(one.extended(tensors, [int(alone.argmax())] * 2), every=True)
            if close(alone, longer.logits[0, prompt.shape[1] - 1]):
                return one
    return replace(made, reasons=(*made.reasons, "it reads a prompt in another way when its answer is known"))


def prompt_probe(reader: Reader, lent: Lent) -> tuple[Probe, tuple[int, int | None]]:
    """Return a probe over a random picture and a text, preprocessed by the model's own processor, and its lengths."""
    import torch

    tensors, target = reader.probe(), None
    if reader.network.config.is_encoder_decoder:
        target, ids = PROBE_TARGET, torch.arange(PROBE_TARGET) % tensors["input_ids"].max()
        tensors["decoder_input_ids"] = ids[None].to(tensors["input_ids"])
    count = tensors["input_ids"].shape[1]
    return Probe(lent, tensors), (reader.states, count) if reader.states else (count, target)


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
    if isinstance(one, PromptModel):
        return build_prompted(place, network, one.tokenizer, lambda: Reader.of(network, one.reader.processor),
                              place.dtype)
    if isinstance(model, TwoTowers):
        return build_towers(place, network, (cast(PictureModel, model.picture).processor, model.tokenizer), place.dtype)
    if isinstance(model, PictureModel):
        task = "none" if model.pooling else model.task
        return build_picture_model(place, network, model.processor, task, place.dtype)
    return build_model(place, network, model.tokenizer, model.task, place.dtype)
