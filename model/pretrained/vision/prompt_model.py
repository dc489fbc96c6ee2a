"""Vision–language models, which read a text with a picture in it: one record over the picture, the text and what they
write, of their language model's attention."""
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.capture.transformers_internals import processor_class, processor_class_of
from clearhead.model.core import pictures
from clearhead.model.core.models import ModelInput
from clearhead.model.core.query import Progress, Query, UserError, first_line, with_arrays
from clearhead.model.core.tokens import Tokens
from clearhead.model.pretrained.files import blame, read_json
from clearhead.model.pretrained.inputs import check_ids, numbered, reading
from clearhead.model.pretrained.model import PretrainedModel
from clearhead.model.pretrained.tokens import (
    LOAD_OPTIONS,
    SUBSCRIPT,
    has_vocabulary,
    open_tokenizer,
    readable,
)
from clearhead.model.pretrained.vision.picture_model import FILES, open_processor
from clearhead.model.pretrained.vision.places import Measured, measure

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import ProcessorMixin

    from clearhead.model.pretrained import Config, Network

AS_PROMPT = "All ids are read as a prompt, which this model reads in another way than its answer."
UNPLACED = "The text itself has tokens of pictures, so that it is not known which of them lie in the picture."
PATCH = "▦"   # starts the name of a token that lies in the picture


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


class Reader(NamedTuple):
    """How a network reads a text with a picture."""

    network: "Network"
    processor: Any           # from transformers
    mark: str = ""           # what stands for the picture in front of a text; "" if the processor puts it there

    def tensors(self, pixels: np.ndarray, text: str) -> "dict[str, Tensor]":
        """Return the network's arguments for a picture, uint8 (height, width, 3), and a text that has its mark. Raises
        UserError if the processor cannot read them."""
        import torch
        from PIL import Image

        with reading():
            made = self.processor(images=Image.fromarray(pixels), text=text, return_tensors="pt")
        to = lambda each: each.to(self.network.device, self.network.dtype if each.is_floating_point() else each.dtype)
        return {name: to(each) for name, each in made.items() if isinstance(each, torch.Tensor) and name != "labels"}

    def marked(self) -> "Reader":
        """Return this reader with its mark, with which the network runs. Raises Unsupported if there is none."""
        import torch

        mark, failed = getattr(self.processor, "image_token", None) or "", None
        for reader in (self._replace(mark=str(getattr(mark, "content", mark))), self):
            try:
                with torch.no_grad():
                    self.network(**reader.probe())
            except Exception as error:   # whatever a network raises for a picture that its text has no place for
                failed = failed or error
            else:
                return reader
        raise Unsupported(f"it does not run on a picture from its own processor: "
                          f"{first_line(failed or Exception(), 200)}") from failed

    def probe(self) -> "dict[str, Tensor]":
        """Return the arguments for a random picture and a short text."""
        noise = np.random.default_rng(0).integers(0, 256, (*PROBE_SIDES, 3), np.uint8)
        return self.tensors(noise, self.mark + PROBE_TEXT)

    def turn(self, messages: "Sequence[Mapping[str, Any]]") -> str:
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
PROBE_TEXT = "a photo of a cat"


@with_arrays
class PromptModel(PretrainedModel):
    """A network that reads texts with a picture, and its processor."""

    reader: Reader
    follows: dict[str, int]   # arguments with a number for each token, and that of tokens behind the prompt
    measured: dict[tuple[int, int], Measured] = field(default_factory=dict)   # by height and width of pictures

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, with one of equal special tokens in a row. Raises UserError for an id that does
        not exist."""
        check_ids(self.network, ids)
        marks = {*self.tokenizer.all_special_ids}
        return super().spelled([number for place, number in enumerate(ids) if not (
            place and number in marks and ids[place - 1] == number)])

    def templated(self, messages: "Sequence[Mapping[str, Any]]") -> str:
        """Return messages with a picture as a text, up to the start of the answer."""
        return self.reader.turn(messages)

    def read(self, query: Query, report: Progress) -> ModelInput:
        """Return the picture and the text. Raises UserError if either is missing or cannot be read."""
        report(0.02, "reading the picture and the text")
        if query.image is None:
            raise UserError(f"{self.card.title} reads a picture with each text; choose or open a picture.")
        if query.text_b is not None or (query.target is not None and not self.network.config.is_encoder_decoder):
            raise UserError(f"{self.card.title} reads one picture and one text; leave the second text and the target "
                            f"empty.")
        pixels, mark = pictures.find(query.image).pixels(), self.reader.mark
        prompt = PROBE_TEXT if query.ids else self.reader.turn(
            [{"role": "user", "content": query.text}]) if query.chat else query.text
        tensors = self.reader.tensors(pixels, (mark if mark not in prompt else "") + prompt)
        more = () if self.network.config.is_encoder_decoder else query.continuation
        if query.ids:
            check_ids(self.network, query.ids)
            tensors = self._of_ids(tensors, query.ids)
        ids = tuple(tensors["input_ids"][0].tolist())
        if len(ids) + len(more) > self.card.max_tokens:
            raise UserError(f"The picture and the text have {len(ids) + len(more):,} tokens, and {self.card.title} "
                            f"reads at most {self.card.max_tokens:,}; choose a smaller picture or shorten the text.")
        check_ids(self.network, (*ids, *more))
        found = self._places(pixels, report)
        typed = prompt.rpartition(mark)[2] if mark else prompt
        source = self._placed(self._tokens(ids, more, "" if query.ids else typed), found, len(ids))
        where = UNPLACED if any(found.places) and not source.boxes else found.note
        notes = tuple(filter(None, (where, AS_PROMPT if query.ids and self.follows else "")))
        return ModelInput(source, None, self.extended(tensors, more), None, notes, pixels)

    def _of_ids(self, tensors: "dict[str, Tensor]", ids: Sequence[int]) -> "dict[str, Tensor]":
        """Return a picture's arguments with these ids in place of its text's. Raises UserError if they have no place
        for the picture, or if a text is also read in another form (as by InstructBLIP)."""
        import torch

        known, given = tensors["input_ids"], torch.tensor([[*ids]], device=self.network.device)
        made = dict(tensors)
        for name, each in tensors.items():
            if each.shape[:2] == known.shape and not each.is_floating_point():
                value = dict(zip(known[0].tolist(), each[0], strict=True))
                made[name] = torch.stack([value.get(number, each[0, -1]) for number in ids])[None]
        if any(name.endswith("_input_ids") for name in tensors):
            raise UserError(f"{self.card.title} also reads its text in another form, which ids do not say; give a "
                            f"text.")
        image = getattr(self.network.config, "image_token_id", None)
        if [number for number in ids if number == image] != [number for number in known[0].tolist() if number == image]:
            raise UserError("These ids do not have the place of the picture; give those of a record of a picture of "
                            "this size, or a text.")
        return made | {"input_ids": given, "attention_mask": torch.ones_like(given)}

    def extended(self, tensors: "dict[str, Tensor]", ids: Sequence[int]) -> "dict[str, Tensor]":
        """Return the arguments with more tokens behind the prompt."""
        import torch

        if not ids:
            return tensors
        known, made = tensors["input_ids"], dict(tensors)
        for name, each in tensors.items():
            if each.shape[:2] == known.shape:
                last = each[:, -1:].repeat(1, len(ids), *[1] * (each.ndim - 2))
                made[name] = torch.cat((each, torch.full_like(last, self.follows[name])
                                        if name in self.follows else last), 1)
        given = torch.tensor([[*ids]], device=known.device)
        return made | {"input_ids": torch.cat((known, given), 1)}

    def _tokens(self, ids: tuple[int, ...], more: tuple[int, ...], typed: str) -> Tokens:
        """Return the tokens of a prompt and what follows. Those of a text as typed have its spans; what a processor or
        a template puts around it is special, and belongs to no text."""
        pieces, whole = numbered(self.tokenizer, (), ids, 0)
        start = whole.rfind(typed) if typed.strip() else -1
        if start < 0:
            typed = whole
        else:
            end = start + len(typed)
            pieces = [replace(each, span=(max(each.span[0] - start, 0), min(each.span[1] - start, len(typed))))
                      if each.text >= 0 and each.span[0] < end and each.span[1] > start
                      else replace(each, raw=each.raw if each.special else whole[slice(*each.span)].removeprefix(" ")
                                   or each.raw, span=(0, 0), text=-1, special=True, unknown=False) for each in pieces]
        after, written = numbered(self.tokenizer, ids, more, len(typed))
        return readable([*pieces, *after], (typed + written,))

    def _placed(self, tokens: Tokens, found: Measured, prompt: int) -> Tokens:
        """Return the tokens with their places, and names by row and column of those that have one."""
        mine = [token for token, number in enumerate(tokens.ids[:prompt]) if number in found.ids]
        places = dict(zip(mine, found.places, strict=True)) if len(mine) == len(found.places) else {}
        known = {token: each for token, each in places.items() if each is not None}
        several = any(each.layer for each in known.values())
        name = lambda each: f"{PATCH}{str(each.layer + 1).translate(SUBSCRIPT) * several} {each.row},{each.column}"
        texts = tuple(name(known[token]) if token in known else text for token, text in enumerate(tokens.texts))
        special = tuple(each and token not in known for token, each in enumerate(tokens.special))
        boxes = tuple(known[token].box if token in known else None for token in range(len(tokens)))
        return replace(tokens, texts=texts, special=special, boxes=boxes) if known else tokens

    def _places(self, pixels: np.ndarray, report: Progress) -> Measured:
        """Return where the image tokens of pictures of this size lie, measured once."""
        size = pixels.shape[0], pixels.shape[1]
        if size not in self.measured:
            try:
                with self.lent() as network:
                    self.measured[size] = measure(
                        self.network, lambda given: network(**given),
                        lambda picture: self.reader.tensors(picture, self.reader.mark + PROBE_TEXT), size, report)
            except Unsupported as error:
                self.measured[size] = Measured(note=f"Where the image tokens of {self.card.title} lie in the picture "
                                                    f"is not measured: {error}.")
        return self.measured[size]
