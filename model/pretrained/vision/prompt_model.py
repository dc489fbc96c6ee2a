"""Vision–language models, which read a text with a picture in it: one record over the picture, the text and what they
write, of their language model's attention."""
import functools
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.transformers_internals import mended, processor_class, processor_class_of
from clearhead.model.core import pictures
from clearhead.model.core.models import ModelInput
from clearhead.model.core.query import Box, Progress, Query, UserError, first_line, quiet, with_arrays
from clearhead.model.core.tokens import PATCH, Tokens
from clearhead.model.pretrained.files import blame, read_json
from clearhead.model.pretrained.inputs import check_ids, framed, numbered, reading
from clearhead.model.pretrained.model import PretrainedModel
from clearhead.model.pretrained.tokens import (
    LOAD_OPTIONS,
    has_vocabulary,
    open_tokenizer,
    readable,
)
from clearhead.model.pretrained.vision.blocks import LastPicture
from clearhead.model.pretrained.vision.picture_model import FILES, open_processor
from clearhead.model.pretrained.vision.places import Measured, embeddings, measure

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import ProcessorMixin

    from clearhead.model.pretrained import Config, Network, Output

AS_PROMPT = "All ids are read as a prompt, which this model reads in another way than its answer."
UNPLACED = "The text itself has tokens of pictures, so that it is not known which of them lie in the picture."


def open_reader(folder: Path, config: "Config") -> "ProcessorMixin":
    """Open a folder's processor of texts and pictures, with Pillow instead of torchvision and without a part for
    videos. Raises UserError, naming the file, if that fails."""
    said = [read_json(folder / name).get("processor_class") for name in (*FILES, "tokenizer_config.json")
            if (folder / name).is_file()]
    name = next(filter(None, said), None) or processor_class_of(config.model_type)
    path = next((folder / each for each in FILES if (folder / each).is_file()), folder)
    parts = {"image_processor": lambda: open_processor(folder), "tokenizer": lambda: open_tokenizer(folder)}
    with blame(path, "a processor of texts and pictures"):
        kind = processor_class(str(name))
        made = [parts[each]() if each in parts
                else open_tokenizer(folder / each) if has_vocabulary(folder / each) else None
                for each in kind.get_attributes()]
        return kind.from_args_and_dict(made, kind.get_processor_dict(folder, **LOAD_OPTIONS)[0])


class PromptReader(NamedTuple):
    """How a network reads a text with a picture."""

    network: "Network"
    processor: Any           # from transformers
    last: LastPicture        # keeps what the vision tower returned
    mark: str = ""           # what stands for the picture in front of a text; "" if the processor puts it there
    states: int = 0          # states of a picture that cross-attention reads; 0 if image tokens are in the text

    def tensors(self, pixels: np.ndarray, text: str) -> "dict[str, Tensor]":
        """Return the network's arguments for a picture, uint8 (height, width, 3), and a text, which the picture's mark
        precedes unless it has one. Raises UserError if the processor cannot read them."""
        import torch
        from PIL import Image

        marked = text if self.mark in text else self.mark + text
        with reading():
            made = self.processor(images=Image.fromarray(pixels), text=marked, return_tensors="pt").to(
                self.network.device, self.network.dtype)
        return {name: each for name, each in made.items() if isinstance(each, torch.Tensor) and name != "labels"}

    @classmethod
    def of(cls, network: "Network", processor: "ProcessorMixin") -> "PromptReader":
        """Return the reader of a network with its processor, a mark with which the network runs, and its number of
        states. Raises Unsupported if it runs with no mark."""
        own, failed = cls(network, mended(processor), LastPicture(network)), None
        mark = getattr(processor, "image_token", None) or ""
        for reader in (own._replace(mark=str(getattr(mark, "content", mark))), own):
            try:
                tensors = reader.probe()
                count = tensors["input_ids"].shape[1]
                with own.last.kept():
                    rows = embeddings(network, functools.partial(network, **tensors), count).shape[1]
            except Unsupported:   # it ran, but reads the picture in another way
                return reader
            except Exception as error:   # whatever a network raises for a picture that its text has no place for
                failed = failed or error
            else:
                return reader._replace(states=rows * (rows != count))
        raise Unsupported(f"it does not run on a picture from its own processor: "
                          f"{first_line(failed or Exception(), 200)}") from failed

    def probe(self) -> "dict[str, Tensor]":
        """Return the arguments for a random picture and a short text. A picture that would be cut into many tiles is a
        strip, which has fewer."""
        noise = np.random.default_rng(0).integers(0, 256, (STRIP[1], STRIP[1], 3), np.uint8)
        made = self.tensors(noise[:PROBE_SIDES[0], :PROBE_SIDES[1]], PROBE_TEXT)
        numbers = lambda tensors: sum(each.numel() for each in tensors.values() if each.is_floating_point())
        if numbers(made) < MANY:
            return made
        return min(made, self.tensors(noise[:STRIP[0]], PROBE_TEXT), key=numbers)

    def turn(self, messages: "Sequence[Mapping[str, str]]") -> str:
        """Return messages in the chat template up to the start of the answer, with the picture in the first one of the
        user."""
        first = next((number for number, each in enumerate(messages) if each["role"] == "user"), 0)
        parts = [{**each, "content": [*[{"type": "image"}] * (number == first),
                                      {"type": "text", "text": each["content"]}]}
                 for number, each in enumerate(messages)]
        template = getattr(self.processor, "chat_template", None) or self.processor.tokenizer.chat_template
        with reading():
            return str(self.processor.apply_chat_template(parts, chat_template=template, tokenize=False,
                                                          add_generation_prompt=True))


PROBE_SIDES = 56, 84   # height and width in pixels of the random test picture, before preprocessing
STRIP = 48, 512
MANY = 3_000_000       # numbers in four pictures of 500 pixels
PROBE_TEXT = "a photo of a cat"


@with_arrays
class PromptModel(PretrainedModel):
    """A network that reads texts with a picture, and its processor."""

    reader: PromptReader
    follows: dict[str, int]   # arguments with a number for each token, and that of tokens behind the prompt
    measured: dict[tuple[int, int], Measured] = field(default_factory=dict)   # by height and width of pictures

    def templated(self, messages: "Sequence[Mapping[str, str]]") -> str:
        """Return messages with a picture as a text, up to the start of the answer."""
        return self.reader.turn(messages)

    def call(self, tensors: "dict[str, Tensor]", every: bool = False, position: int | None = None) -> "Output":
        """Return the network's output, like any model."""
        with self.reader.last.kept():
            return super().call(tensors, every, position)

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return the ids of the answer, like any model."""
        with self.reader.last.kept():
            return super().write(query, most, report)

    def read(self, query: Query, report: Progress) -> ModelInput:
        """Return the picture and the text. Raises UserError if either is missing or cannot be read."""
        report(0.02, "reading the picture and the text")
        if query.image is None:
            raise UserError(f"{self.card.title} reads a picture with each text; choose or open a picture.")
        if query.text_b is not None or (query.target is not None and not self.network.config.is_encoder_decoder):
            raise UserError(f"{self.card.title} reads one picture and one text; leave the second text and the target "
                            f"empty.")
        pixels, mark = pictures.find(query.image).pixels(), self.reader.mark
        prompt = PROBE_TEXT if query.ids else self.templated(
            [{"role": "user", "content": query.text}]) if query.chat else query.text
        tensors = self.reader.tensors(pixels, prompt)
        ids = query.ids or tuple(tensors["input_ids"][0].tolist())
        more = () if self.network.config.is_encoder_decoder else query.continuation
        if len(ids) + len(more) > self.card.max_tokens:
            raise UserError(f"The picture and the text have {len(ids) + len(more):,} tokens, and {self.card.title} "
                            f"reads at most {self.card.max_tokens:,}; choose a smaller picture or shorten the text.")
        check_ids(self.network, (*ids, *more))
        if query.ids:
            tensors = self._of_ids(tensors, ids)
        found = self._places(pixels, report)
        typed = "" if query.ids else prompt.rpartition(mark)[2] if mark else prompt
        text, states = self._tokens(ids, more, typed), self.reader.states
        source = _placed(_states(states), found, states) if states else _placed(text, found, len(ids))
        where = UNPLACED if any(found.places) and not source.boxes else found.note
        notes = tuple(filter(None, (where, AS_PROMPT if query.ids and self.follows else "")))
        return ModelInput(source, text if states else None, self.extended(tensors, more), None, notes, pixels)

    def _of_ids(self, tensors: "dict[str, Tensor]", ids: tuple[int, ...]) -> "dict[str, Tensor]":
        """Return a picture's arguments with these ids in place of its text's. Raises UserError if they have no place
        for the picture, or if a text is also read in another form (as by InstructBLIP)."""
        if any(name.endswith("_input_ids") for name in tensors):
            raise UserError(f"{self.card.title} also reads its text in another form, which ids do not say; give a "
                            f"text.")
        known, image = tensors["input_ids"][0].tolist(), getattr(self.network.config, "image_token_id", None)
        if ids.count(image) != known.count(image):
            raise UserError("These ids do not have the place of the picture; give those of a record of a picture of "
                            "this size, or a text.")
        places = {number: place for place, number in enumerate(known)}
        return _with_ids(tensors, ids, [places.get(number, -1) for number in ids])

    def extended(self, tensors: "dict[str, Tensor]", ids: Sequence[int]) -> "dict[str, Tensor]":
        """Return the arguments with more tokens behind the prompt."""
        known = tensors["input_ids"][0].tolist()
        made = _with_ids(tensors, (*known, *ids), [*range(len(known)), *[-1] * len(ids)])
        for name, value in self.follows.items():
            made[name][:, len(known):] = value
        return made

    def _tokens(self, ids: tuple[int, ...], more: tuple[int, ...], typed: str) -> Tokens:
        """Return the tokens of a prompt and what follows. Those of a text as typed have its spans; what a processor or
        a template puts around it is special, and belongs to no text."""
        pieces, whole = numbered(self.tokenizer, (), ids, 0)
        start = whole.rfind(typed) if typed.strip() else -1
        if start < 0:
            typed = whole
        else:
            pieces = framed(pieces, whole, slice(start, start + len(typed)), typed, 0)
        after, written = numbered(self.tokenizer, ids, more, len(typed))
        return readable([*pieces, *after], (typed + written,))

    def _places(self, pixels: np.ndarray, report: Progress) -> Measured:
        """Return where the image tokens of pictures of this size lie, measured once."""
        size = pixels.shape[0], pixels.shape[1]
        if size not in self.measured:
            try:
                with self.lent() as network:
                    self.measured[size] = measure(
                        self.network, lambda given: network(**given),
                        lambda picture: self.reader.tensors(picture, PROBE_TEXT), size, report)
            except Unsupported as error:
                self.measured[size] = Measured(note=f"Where the image tokens of {self.card.title} lie in the picture "
                                                    f"is not measured: {error}.")
        found, image = self.measured[size], getattr(self.network.config, "image_token_id", None)
        known = range(self.reader.states) if self.reader.states else () if image is None else (image,)
        return found if found.ids else found._replace(ids=frozenset(known))


def _with_ids(tensors: "dict[str, Tensor]", ids: Sequence[int], places: list[int]) -> "dict[str, Tensor]":
    """Return a prompt's arguments for other ids. places: the token of the prompt from which each has its further
    arguments, such as its type."""
    import torch

    known = tensors["input_ids"]
    made = {name: each[:, places] if each.shape[:2] == known.shape else each for name, each in tensors.items()}
    return made | {"input_ids": torch.tensor([[*ids]], device=known.device)}


def _states(count: int) -> Tokens:
    """Return the states of a picture that cross-attention reads, as tokens without a place."""
    return Tokens(tuple(f"{PATCH} {number}" for number in range(count)), tuple(range(count)), (True,) * count,
                  ((0, 0),) * count, (-1,) * count, (-1,) * count, (False,) * count)


def _placed(tokens: Tokens, found: Measured, prompt: int) -> Tokens:
    """Return the tokens with their places, and image tokens named by row and column, or by number without a place."""
    mine = [token for token, number in enumerate(tokens.ids[:prompt]) if number in found.ids]
    places = found.places or (None,) * len(mine)
    if len(mine) != len(places):
        return tokens
    texts, boxes = [*tokens.texts], dict[int, Box]()
    for number, (token, each) in enumerate(zip(mine, places, strict=True)):
        texts[token] = f"{PATCH} {number}"
        if each is not None:
            texts[token], boxes[token] = each
    return replace(tokens, texts=tuple(texts), boxes=tuple(map(boxes.get, range(len(tokens)))) if boxes else (),
                   special=tuple(own and token not in boxes for token, own in enumerate(tokens.special)))
