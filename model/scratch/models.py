"""Our own models: their inputs and answers, and storage of their weights."""
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from clearhead.model.capture import forward_pass
from clearhead.model.capture.model import NetworkModel
from clearhead.model.capture.verify import Wiring
from clearhead.model.core import files, pictures
from clearhead.model.core.memory import Plan, Shape
from clearhead.model.core.models import ModelInput
from clearhead.model.core.query import Progress, Query, UserError, frozen, need, quiet
from clearhead.model.core.record import AttentionRecord, Card, Omission
from clearhead.model.core.tokens import PATCH, Tokens, patch_tokens, spoken
from clearhead.model.core.torch_runs import seeded, stop_between_layers
from clearhead.model.core.traces import Embedded, Trace
from clearhead.model.scratch import questions
from clearhead.model.scratch import tokens as cutting
from clearhead.model.scratch.canvas import COLUMNS, ROWS, SIDE, ink
from clearhead.model.scratch.transformer import ADDED, Config, Transformer, hook_names, slots

STEP = ".step"          # suffix of the name of a matrix's step sizes, one per row
TIED = "output.weight"  # shared with the embeddings, so not stored


def write(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, object]) -> None:
    """Write a safetensors file into an existing folder, with the metadata's values as JSON. Raises UserError on
    failure."""
    content = save({name: tensor.contiguous() for name, tensor in tensors.items()},
                   {name: json.dumps(each) for name, each in metadata.items()})
    files.write(path, content)


def read_metadata(path: Path) -> dict:
    """Return the file's metadata. Raises UserError if the file is missing or damaged."""
    with open_file(path) as file:
        return {name: json.loads(each) for name, each in (file.metadata() or {}).items()}


def command(metadata: dict) -> str:
    """Return the command that trains a model with this metadata."""
    return f"python -m clearhead train {metadata['task']} --steps {metadata['steps']} --seed {metadata['seed']}"


def open_file(path: Path) -> safe_open:
    """Open the file to read tensors by name. Raises UserError if it is missing or damaged."""
    try:
        return safe_open(path, "pt")
    except FileNotFoundError:
        raise UserError(
            f"The weights {path.name} are missing; create them with: python -m clearhead train {path.stem}.") from None
    except (SafetensorError, OSError) as error:
        raise UserError(f"The weights {path.name} cannot be read ({error}); create them with: python -m clearhead "
                        f"train {path.stem}.") from error


def contents(path: Path, prefix: str = "") -> dict[str, Tensor]:
    """Return the file's tensors whose names begin with `prefix`, keyed without it. Tensors are copied, because Windows
    cannot replace a memory-mapped file."""
    with open_file(path) as file:
        return {name.removeprefix(prefix): file.get_tensor(name).clone() for name in file.offset_keys()
                if name.startswith(prefix)}


def tensors(model: Transformer) -> dict[str, Tensor]:
    """Return the model's parameters by name, detached; a tied table occurs once."""
    return {name: each.detach() for name, each in model.state_dict().items() if not (model.config.tie and name == TIED)}


def pack(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Compress parameters for snapshots: matrices to 8 bits with one step size per row, the rest to 16 bits. The error
    is at most half a step."""
    packed = {}
    for name, value in values.items():
        if value.dim() == 2:
            step = value.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127  # (row, 1)
            packed[name], packed[name + STEP] = (value / step).round().to(torch.int8), step
        else:
            packed[name] = value.half()
    return packed


def unpack(packed: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Decompress the output of `pack` to float32."""
    return {name: each.float() * packed.get(name + STEP, 1) for name, each in packed.items() if not name.endswith(STEP)}


def fill(model: Transformer, values: Mapping[str, Tensor]) -> None:
    """Copy values of any floating-point type into the model's parameters. Raises ValueError for missing or unexpected
    names."""
    own = tensors(model)
    if own.keys() != values.keys():
        raise ValueError(f"weights: expected {sorted(own)}, got {sorted(values)}; the file belongs to another "
                         f"configuration.")
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(value)


def load(path: Path, step: int | None = None) -> tuple[Transformer, dict]:
    """Load the model in a weights file, or the snapshot at `step` in a snapshot file, in evaluation mode. Raises
    UserError for a missing step."""
    metadata = read_metadata(path)
    if step is not None and step not in metadata["frames"]:
        raise UserError(
            f"There is no snapshot of step {step}; choose one of {', '.join(map(str, metadata['frames']))}.")
    values = unpack(contents(path, "" if step is None else f"{step}/"))
    with seeded():
        model = Transformer(Config(**metadata["config"]))
    fill(model, values)
    return model.eval(), metadata


RESIZED = ("The picture was converted to grey and resized to {side} × {side} pixels. The model expects {expected}; its "
           "answers about other pictures mean nothing.")
CANVAS = "a canvas of that size, dark digits on white paper with a dot under one of them"
SCENE = "a picture of that size with dark digits on white paper"
Result = TypeVar("Result")
# tokens of source and target, the part that did not fit, and notes
Reading = tuple[Tokens, Tokens | None, Omission | None, tuple[str, ...]]


@frozen
class Words:
    """The closed vocabulary of one of our models."""

    words: tuple[str, ...]
    ends: tuple[int, ...]
    neutral: int = cutting.UNKNOWN

    def name(self, number: int) -> str:
        """Return the word with this id."""
        return self.words[number]

    def find(self, text: str) -> list[int]:
        """Return the id of a word, or [] if the vocabulary lacks it."""
        return [number for number, word in enumerate(self.words) if word == spoken(text)]


def open_network(kind: "type[ScratchModel]", card: Card, network: Transformer, tokenizer: object) -> "ScratchModel":
    """Return a model of this class that is ready to answer."""
    config, width = network.config, network.config.d_model // network.config.heads
    stop_between_layers(network)
    every = slots(config)
    shape = Shape(config.heads, config.heads, width, width)
    wiring = Wiring({(slot.module, 0): slot for slot in every}, {(slot.module, 0): shape for slot in every},
                    float("nan"), 0.0, ())
    plan = Plan(card.parameters, 8 * config.d_model + 3 * config.d_ff, config.vocabulary, (shape,) * len(every), False)
    return kind(card, network, tokenizer, wiring, kind.answers, (), hook_names(network), plan)


class ScratchModel(NetworkModel):
    """An encoder, a decoder or both. This base class is for the untrained model, which predicts nothing."""

    ours = True
    answers = "none"                # kind of prediction
    ends: tuple[int, ...] = ()      # ids that end a text
    separator = cutting.UNKNOWN      # the untrained model has learned no separator, so any id works

    @property
    def vocabulary(self) -> Words:
        """The words that the model can answer with."""
        return Words(getattr(self.tokenizer, "words", ()), self.ends)

    def read(self, query: Query) -> Reading:
        """Return the tokens of source and target, the part that did not fit, and notes, for a text or a pair and an
        optional target."""
        if query.continuation:
            raise UserError("An untrained model has nothing to continue a text with; choose a trained one.")
        first, second = self.source(query), None
        if query.text_b is not None:
            second = len(first) + 1
            first += [cutting.special("[SEP]", self.separator, len(query.text)),
                      *self.pieces(query.text_b, "second text")]
        fits_second = query.text_b and second and second < self.card.max_tokens
        fitting, omitted = self.fit(first, query.text_b if fits_second and query.text_b else query.text)
        target: Tokens | None = None
        notes: tuple[str, ...] = ()
        if query.target is not None:
            target, notes = self.target([cutting.special("[BOS]", cutting.BEGIN, 0),
                                         *self.pieces(query.target, "target")])
        return cutting.tokens(fitting, second), target, omitted, notes

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as the network's input. Raises UserError for blank texts and impossible edits."""
        report(0.02, "reading the text")
        source, target, omitted, notes = self.read(query)
        self.check_edits(query.edits, (len(source), None if target is None else len(target)))
        tensors = {"input_ids": torch.tensor([source.ids])}
        if target is not None:
            tensors["decoder_input_ids"] = torch.tensor([target.ids])
        unseen = dict.fromkeys(text for side in (source, target) if side
                               for text, unknown in zip(side.texts, side.unknown, strict=True) if unknown)
        if unseen:
            notes += (f"{self.card.title} never saw {', '.join(unseen)}: each is read as [UNK], so the answer may mean "
                      f"nothing; use words of its vocabulary or a pretrained model.",)
        ids = query.continuation if target is None else target.ids[1:] if query.target is None else ()
        return ModelInput(source, target, tensors, omitted, notes, written=self.spelled(ids) or None)

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the words with these ids, or the characters of a model that reads characters."""
        between = "" if isinstance(self.tokenizer, cutting.SignTokenizer) else " "
        return between.join(piece.text for piece in self.continued(tuple(ids), 0) if piece.id != cutting.END)

    def target(self, ids: list[cutting.WordToken]) -> tuple[Tokens, tuple[str, ...]]:
        """Return the tokens of a target, and a note if some did not fit."""
        left_out = len(ids) - self.card.max_tokens
        notes = (f"{left_out} tokens at the end of the target did not fit and were left out.",) if left_out > 0 else ()
        return cutting.tokens(ids[:self.card.max_tokens]), notes

    def source(self, query: Query) -> list[cutting.WordToken]:
        """Return the pieces of the text, or those with the query's ids."""
        return self.continued(query.ids, 0) if query.ids else self.pieces(query.text, "text")

    def continued(self, ids: tuple[int, ...], place: int) -> list[cutting.WordToken]:
        """Return pieces for ids. Raises UserError for an id outside the vocabulary."""
        words = getattr(self.tokenizer, "words", ())   # the untrained model has only numbers
        most = len(words) or self.tokenizer.vocabulary
        if any(not 0 <= number < most for number in ids):
            raise UserError(f"The tokens of {self.card.title} have ids from 0 to {most - 1}; start again from the "
                            f"text.")
        return [cutting.WordToken(words[number] if words else f"∅{number}", number, (place, place),
                                  unknown=number == cutting.UNKNOWN) for number in ids]

    def pieces(self, text: str, name: str) -> list[cutting.WordToken]:
        """Split a text into pieces. Raises UserError if there are none."""
        found = self.tokenizer.pieces(text)
        if not found:
            raise UserError(f"The {name} has no words; type one.")
        return found

    def fit(self, found: list[cutting.WordToken], text: str) -> tuple[list[cutting.WordToken], Omission | None]:
        """Return the pieces that fit and the omitted rest, the characters of `text` from the first piece that did not
        fit."""
        limit = self.card.max_tokens
        if len(found) <= limit:
            return found, None
        return found[:limit], Omission(len(found) - limit, text[found[limit].span[0]:], limit)

    def refuse(self, query: Query, *fields: str) -> None:
        """Raise UserError if the query uses one of these fields, which this model does not read."""
        for name in fields:
            if getattr(query, name):
                raise UserError(f"{self.card.title} does not read a {name.replace('text_b', 'second text')}; leave it "
                                f"empty or choose another model.")

    def call(self, tensors: dict[str, Tensor], every: bool = False, position: int | None = None) -> Tensor:
        """Return logits (row, token, vocabulary), or the encoder's output if an encoder–decoder has no target."""
        given = [tensors[name] for name in ("input_ids", "pixel_values", "decoder_input_ids") if name in tensors]
        both = self.network.config.encoder_layers and self.network.config.decoder_layers
        return self.network.encode(*given) if both and len(given) == 1 else self.network(*given)

    def outputs(self, output: Tensor) -> Tensor:
        """Return the logits themselves."""
        return output

    def positions(self, asked: ModelInput) -> list[int]:
        """Return the positions at which the model answers: all of the target, or of the source if there is none."""
        return list(range(len(asked.continued)))

    def answered(self, asked: ModelInput, output: Tensor, row: int = 0) -> tuple[Tensor, list[int]]:
        """Return the logits at the answer positions, and these positions."""
        positions = self.positions(asked)
        return output[row][positions], positions

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace with the embeddings' parts, which are known even if they are not separate modules."""
        found, asked = super().trace(query, report, record=record), self.tokens(query)
        return replace(found, embedded=tuple(self._embedded(asked, start) for start in found.embedded))

    def _embedded(self, asked: ModelInput, start: Embedded) -> Embedded:
        """Split the embedding (sections 3.4 and 3.5): the token's vector times √d_model, plus a position vector if the
        scheme adds one."""
        embedding, added = self.network.embedding, self.network.config.positions in ADDED
        with torch.inference_mode():
            pictures = asked.tensors.get("pixel_values")
            if self.network.config.answers_texts:
                tower = self.network.tower
                name, made = "token", self.network.merge(asked.tensors["input_ids"], tower.projector(tower(pictures)))
            elif pictures is not None:
                name, made = "patch", embedding.tokens(pictures)
            else:
                of_target = asked.target is not None and start.kind.base != "self"
                ids = asked.tensors["decoder_input_ids" if of_target else "input_ids"]
                name, made = "token", embedding.table(ids) * embedding.scale
        made = made[0].numpy()
        learned = getattr(embedding.positions, "table", None)
        return replace(start, parts=((name, made), *([("position", start.output - made)] if added else [])), norm=None,
                       learned=None if learned is None else learned.detach().numpy())


class Resolver(ScratchModel):
    """A resolver, which predicts at each "it" the noun that the pronoun refers to."""

    answers = "label"

    def read(self, query: Query) -> Reading:
        """Return the tokens of the text. Raises UserError for a second side."""
        self.refuse(query, "text_b", "target", "continuation")
        source, _, omitted, _ = super().read(query)
        it = any(text.lower() == "it" for text in source.texts)
        return source, None, omitted, () if it else ('There is no "it" in this text, so there is nothing to resolve.',)

    def positions(self, asked: ModelInput) -> list[int]:
        """Return the positions of every "it"."""
        return [place for place, text in enumerate(asked.source.texts) if text.lower() == "it"]


class Writer(ScratchModel):
    """The induction model, which predicts the next character of a text."""

    answers = "next"

    def read(self, query: Query) -> Reading:
        """Return [BOS] and the tokens of text and continuation."""
        self.refuse(query, "text_b", "target")
        begin = [] if query.ids else [cutting.special("[BOS]", cutting.BEGIN, 0)]
        fitting, omitted = self.fit([*begin, *self.source(query), *self.continued(query.continuation, len(query.text))],
                                    query.text)
        return cutting.tokens(fitting), None, omitted, ()

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return the ids of greedy decoding, without edits, as far as there are positions."""
        ids: tuple[int, ...] = ()
        for _ in range(min(most, self.card.max_tokens - len(self.read(query)[0]))):
            asked = self.tokens(replace(query, continuation=ids), report)
            with self.threads(asked), torch.inference_mode():
                ids += (int(self.forward(asked.tensors)[0, -1].argmax()),)
            if ids[-1] in self.ends:
                break
        return ids


class Stories(Writer):
    """The story model, which predicts the next word; [EOS] ends a story."""

    ends = (cutting.END,)


class Translator(Writer):
    """The translator, which reads an English text with a given French translation or its own greedy one."""

    answers = "target"
    ends = (cutting.END,)

    def read(self, query: Query) -> Reading:
        """Return the tokens of source and target; by default, the target is the model's own translation."""
        self.refuse(query, "text_b")
        fitting, omitted = self.fit(self.source(query), query.text)
        source = cutting.tokens(fitting)
        french = [cutting.special("[BOS]", cutting.BEGIN, 0)]
        if query.target is not None:
            french += self.pieces(query.target, "target")
        elif not query.continuation:
            french += self.continued(self.decoded(source, query), 0)
        target, notes = self.target(french + self.continued(query.continuation, len(query.target or "")))
        return source, target, omitted, notes

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return the ids of the model's translation."""
        return self.decoded(self.read(query)[0], query)[:most]

    def decoded(self, source: Tokens, query: Query) -> tuple[int, ...]:
        """Decode greedily with the question's edits and return the ids."""
        from clearhead.model.scratch.tasks.translator import greedy

        edits = frozenset(edit for edit in query.edits if getattr(edit, "side", "source") == "source")
        self.check_edits(edits, (len(source), None))
        taken = self.session(query.edits, None).patched_outputs

        def edited(forward: Callable[[], Result]) -> Result:
            session = forward_pass.Session(self.names, self.wiring.slots if self.wiring else {}, query.edits,
                                           patched_outputs=taken)
            return forward_pass.run(session, forward)

        asked = ModelInput(source, None, {}, None, ())
        with self.threads(asked):
            ids = torch.tensor([source.ids])
            return tuple((greedy(self.network, ids, edited) if query.edits else greedy(self.network, ids))[0])


class MarkedDigit(ScratchModel):
    """A vision model, which predicts at [CLS] the digit above the dot."""

    answers = "label"

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the picture's patches. Raises UserError for a text or a missing picture."""
        report(0.02, "reading the picture")
        self.refuse(query, "text_b", "target", "continuation")
        if query.text.strip():
            raise UserError(f"{self.card.title} reads pictures only; leave the text empty, or "
                            f"choose a model that reads text.")
        if query.image is None:
            raise UserError(f"{self.card.title} reads a picture; choose or open one.")
        tokens = patch_tokens(ROWS, COLUMNS)
        self.check_edits(query.edits, (len(tokens), None))
        grey, notes = processed(pictures.find(query.image).pixels(), ROWS * SIDE, CANVAS, crop=True)
        return ModelInput(tokens, None, {"pixel_values": ink(grey)[None]}, None, notes,
                          np.repeat(grey[..., None], 3, -1))

    def positions(self, asked: ModelInput) -> list[int]:
        """Return the position of [CLS]."""
        return [0]


def processed(pixels: np.ndarray, side: int, expected: str, crop: bool) -> tuple[np.ndarray, tuple[str, ...]]:
    """Convert a picture (height, width, RGB) to grey and resize it by area averaging, to uint8 (side, side). Return it
    with a note that names the expected picture if the size changed. crop: keep only the largest central square, instead
    of squeezing the picture."""
    need("PIL")
    from PIL import Image

    grey = Image.fromarray(pixels).convert("L")
    notes = () if grey.size == (side, side) else (RESIZED.format(side=side, expected=expected),)
    width, height = (min(grey.size),) * 2 if crop else grey.size
    left, top = (grey.width - width) / 2, (grey.height - height) / 2
    box = left, top, left + width, top + height
    return np.asarray(grey.resize((side, side), Image.Resampling.BOX, box=box)), notes


class PictureReader(Writer):
    """A vision–language model, which answers a question about a picture that it reads in front of the question."""

    ends = (cutting.END,)

    def read(self, query: Query) -> Reading:
        """Return [BOS], a token for each patch, and those of question and answer."""
        self.refuse(query, "text_b", "target")
        pieces = [*self.continued(() if query.ids else questions.BEFORE, 0), *self.source(query),
                  *self.continued(query.continuation, len(query.text))]
        first, ids = len(questions.BEFORE), [piece.id for piece in pieces]
        if tuple(ids[:first]) != questions.BEFORE or cutting.IMAGE in ids[first:]:
            raise UserError("These ids do not have the place of the picture; give those of a record, or a text.")
        fitting, omitted = self.fit([*(replace(piece, special=True) for piece in pieces[:first]), *pieces[first:]],
                                    query.text)
        found = cutting.tokens(fitting)
        seen, rest = patch_tokens(questions.ROWS, questions.COLUMNS, found.texts[:1]), found.texts[first:]
        names = (f"{PATCH} {text}" if box else text for text, box in zip(seen.texts, seen.boxes, strict=True))
        return replace(found, texts=(*names, *rest), boxes=(*seen.boxes, *(None for _ in rest)),
                       special=seen.special + found.special[first:]), None, omitted, ()

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the picture and the question. Raises UserError if either is missing."""
        if query.image is None:
            raise UserError(f"{self.card.title} reads a picture with each question; choose or open one.")
        asked, pixels = super().tokens(query, report), pictures.find(query.image).pixels()
        grey, notes = processed(pixels, questions.ROWS * SIDE, SCENE, crop=False)
        return replace(asked, tensors=asked.tensors | {"pixel_values": ink(grey)[None]}, notes=asked.notes + notes,
                       picture=pixels)
