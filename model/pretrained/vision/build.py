"""Turn a checked folder into a model of texts, pictures or both: load it with transformers, verify it with a probe and
find its patches."""
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.signature import settings_in
from clearhead.model.capture.transformers_internals import ATTENTION, drawn_anew
from clearhead.model.core.query import Progress, UserError, first_line
from clearhead.model.core.record import Card
from clearhead.model.core.torch_runs import seeded
from clearhead.model.pretrained.accounting import has_towers, unread
from clearhead.model.pretrained.build import (
    PROBE_TARGET,
    SEED,
    Lend,
    Probe,
    build_model,
    close,
    language_part,
    load_network,
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
from clearhead.model.pretrained.vision.prompt_model import PromptModel, PromptReader, open_reader

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import BaseImageProcessor

    from clearhead.model.pretrained import Network, Tokenizer
    from clearhead.model.pretrained.load import ModelFiles

PROBE_SIDES = 240, 320   # height and width in pixels of the random test picture, before preprocessing
# descriptions of positions in a vision tower, by the names of its parameters and modules
POSITIONS = (("relative_position_bias", "relative (a learned bias by distance in two dimensions)"),
             ("rope", "rotary in two dimensions"), ("position_embedding", "learned, a vector for each patch"),
             ("pos_embed", "learned, a vector for each patch"))


def open_folder(place: "ModelFiles", report: Progress) -> PretrainedModel | TwoTowers:
    """Load and verify the model of a folder. The caller must hold the lock and have checked the files and prepared
    transformers. Raises UserError if the model cannot be shown."""
    alone = "image" in place.reads and "prompt" not in place.reads
    loaded = load_network(place, "pixel_values" if alone else "input_ids", report)
    network = loaded.network
    readers = Readers(lambda: open_tokenizer(tokenizer_folder(place.folders)), lambda: open_processor(place.folder),
                      lambda: PromptReader.of(network, open_reader(place.folder, network.config)))
    report(0.7, "verifying against the model's own attention")
    place = replace(place, unapplied=place.unapplied + loaded.unapplied + (
        () if "image" in place.reads else unread(network.config)))
    with blame(place.folder / "config.json", "the configuration of these weights"):
        return build(place, network, readers, loaded.head, loaded.dtype)


class Readers(NamedTuple):
    """Functions that open what reads a network's inputs. Only those that the network needs are called."""

    tokenizer: "Callable[[], Tokenizer]"
    processor: "Callable[[], BaseImageProcessor]"   # of pictures
    prompt: Callable[[], PromptReader]              # of texts with a picture


def build(place: "ModelFiles", network: "Network", readers: Readers, head: str, dtype: str,
          lend: Lend = nullcontext) -> PretrainedModel | TwoTowers:
    """Build the model of a network in evaluation mode, verified or at least reported, for the inputs in `place.reads`.
    Raises UserError if it cannot be shown correctly."""
    if "prompt" in place.reads:
        return build_prompted(place, network, readers.tokenizer(), readers.prompt, dtype, lend)
    if "image" not in place.reads:
        return build_model(place, network, readers.tokenizer(), head, dtype, lend)
    if has_towers(network):
        return build_towers(place, network, (readers.processor(), readers.tokenizer()), dtype, lend)
    return build_picture_model(place, network, readers.processor(), head, dtype, lend=lend)


def build_picture_model(place: "ModelFiles", network: "Network", processor: "BaseImageProcessor", head: str,
                        dtype: str = "float32", comparison: TextComparison | None = None,
                        lend: Lend = nullcontext) -> PictureModel:
    """Build the vision model of a network in evaluation mode, verified or at least reported, with its patches measured.
    Raises UserError if its attention cannot be shown correctly."""
    with _refused(place):
        probe = picture_probe(network, processor, lend)
        tokens = picture_tokens(probe.lent, probe.tensors["pixel_values"])
    size = height, width = tuple(probe.tensors["pixel_values"].shape[2:])
    rows, columns = tokens.grid or (0, 0)
    box = tokens.boxes[tokens.patches[0]]
    assert box is not None
    words = (f"{rows} × {columns} patches of {round((box.bottom - box.top) * height)} × "
             f"{round((box.right - box.left) * width)} pixels")
    whole = build_model(place, network, words, head, dtype, lend, (probe, (len(tokens), None)))
    if comparison is not None:
        with _refused(place):
            comparison.check(probe.tensors["pixel_values"])
    pooling = Pooling("first" if tokens.special[0] else "mean", False) if head == "none" else None
    whole = replace(whole, card=picture_card(whole.card, network, len(tokens)), tokenizer=None, pooling=pooling,
                    task="vector" if pooling else head)
    return PictureModel(**vars(whole), processor=processor, comparison=comparison, measured={size: tokens})


def picture_probe(network: "Network", processor: "BaseImageProcessor", lend: Lend = nullcontext) -> Probe:
    """Return a probe over a random picture, preprocessed by the model's own processor."""
    noise = np.random.default_rng(0).integers(0, 256, (*PROBE_SIDES, 3), np.uint8)
    pixels = prepare(processor, noise).pixels.to(network.device, network.dtype)
    return Probe(partial(lend, network), {"pixel_values": pixels})


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
                 dtype: str = "float32", lend: Lend = nullcontext) -> TwoTowers:
    """Build both towers of a network in evaluation mode, verified separately. readers: its image processor and its
    tokenizer."""
    processor, tokenizer = readers
    picture = build_picture_model(place, network.vision_model, processor, "none", dtype,
                                  TextComparison(network, tokenizer, partial(lend, network)), lend)
    return TwoTowers(picture, build_model(place, network.text_model, tokenizer, "none", dtype, lend))


def build_prompted(place: "ModelFiles", network: "Network", tokenizer: "Tokenizer",
                   reader: Callable[[], PromptReader], dtype: str = "float32",
                   lend: Lend = nullcontext) -> PretrainedModel | TwoTowers:
    """Build the vision–language model of a network in evaluation mode, verified or at least reported: to read texts
    with a picture, and alone, or only one of these. reader: returns how it reads pictures. Raises UserError if it can
    be shown with neither."""
    alone = None
    head = "target" if network.config.is_encoder_decoder else "next" if network.can_generate() else "none"
    with suppress(UserError):   # else it does not run without a picture
        alone = build_model(replace(place, unapplied=place.unapplied + unread(network.config)), network, tokenizer,
                            head, dtype, lend)
    own = [settings.get(ATTENTION) for settings in settings_in(network)]
    try:
        seeing = _build_seeing(place, network, reader, head, dtype, lend)
    except UserError as error:
        if alone is None:
            raise
        for settings, attention in zip(settings_in(network), own, strict=True):
            settings[ATTENTION] = attention
        return replace(alone, reasons=(*alone.reasons, f"{UNSEEN}: {first_line(error, 300).rstrip('.')}"))
    # both run in one network, which has one implementation of attention
    same = own == [settings.get(ATTENTION) for settings in settings_in(network)]
    return TwoTowers(seeing, alone) if alone and same else seeing


def _build_seeing(place: "ModelFiles", network: "Network", open_it: Callable[[], PromptReader], head: str, dtype: str,
                  lend: Lend) -> PromptModel:
    with _refused(place), lend(network):
        reader = open_it()
        probe = prompt_probe(reader, lend)
    with reader.last.kept():
        whole = build_model(place, network, reader.processor.tokenizer, head, dtype, lend, probe,
                            language_part(network))
    made = PromptModel(**vars(whole), reader=reader, follows={})
    return made if network.config.is_encoder_decoder else _continued(made, probe[0].tensors)


def _continued(made: PromptModel, tensors: "dict[str, Tensor]") -> PromptModel:
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


def prompt_probe(reader: PromptReader, lend: Lend) -> tuple[Probe, tuple[int, int | None]]:
    """Return a probe over a random picture and a text, preprocessed by the model's own processor, and its lengths."""
    import torch

    tensors, target = reader.probe(), None
    if reader.network.config.is_encoder_decoder:
        target, ids = PROBE_TARGET, torch.arange(PROBE_TARGET) % tensors["input_ids"].max()
        tensors["decoder_input_ids"] = ids[None].to(tensors["input_ids"])
    count = tensors["input_ids"].shape[1]
    return Probe(partial(lend, reader.network), tensors), (reader.states, count) if reader.states else (count, target)


def untrained_twin(model: PretrainedModel | TwoTowers, place: "ModelFiles") -> PretrainedModel | TwoTowers:
    """Return an untrained twin of this model: the same architecture, with weights newly initialised from a fixed
    seed."""
    import torch

    one = model.picture if isinstance(model, TwoTowers) else model
    compared = one.comparison if isinstance(one, PictureModel) else None
    with seeded(SEED):
        network = drawn_anew(one.network if compared is None else compared.network)
    network = network.to(place.device, getattr(torch, place.dtype)).eval()
    sides = {"image", "prompt"} if isinstance(one, PromptModel) else {"image"} if isinstance(one, PictureModel) else ()
    place = replace(place, title=f"{place.title}, untrained", entry=None, adapter=None, unapplied=one.reasons,
                    reads=frozenset(sides))
    readers = Readers(lambda: model.tokenizer, lambda: cast(PictureModel, one).processor,
                      lambda: PromptReader.of(network, cast(PromptModel, one).reader.processor))
    head = "none" if isinstance(one, PictureModel) and one.pooling else one.task
    return build(place, network, readers, head, place.dtype)
