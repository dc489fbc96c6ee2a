"""Vision models, which turn a picture into a record over patches with one captured forward pass, alone or together with
a text tower."""
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearhead.model.capture.forward_pass import Unsupported
from clearhead.model.core import memory, pictures
from clearhead.model.core.models import ModelInput, Pass
from clearhead.model.core.query import Kind, Progress, Query, UserError, pictures_only, quiet, with_arrays
from clearhead.model.core.record import CANDIDATES, AttentionRecord, Prediction
from clearhead.model.core.tokens import Tokens
from clearhead.model.core.traces import Trace
from clearhead.model.pretrained.files import blame
from clearhead.model.pretrained.model import PretrainedModel
from clearhead.model.pretrained.tokens import LOAD_OPTIONS
from clearhead.model.pretrained.vision.embedding import embedded_parts, picture_tokens

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import BaseImageProcessor

    from clearhead.model.pretrained import Network, Output, Tokenizer

FILES = ("preprocessor_config.json", "processor_config.json")
HALF = 0.51   # largest difference between an 8-bit picture and the network's input, in steps of 1/255


class Prepared(NamedTuple):
    """A preprocessed picture."""

    pixels: "Tensor"    # float32 (1, 3, height, width), normalised
    shown: np.ndarray   # uint8 (height, width, 3), before normalisation


def open_processor(folder: Path) -> "BaseImageProcessor":
    """Open the folder's image processor, with Pillow instead of torchvision. Raises UserError, naming the file, if it
    is missing or damaged."""
    from transformers import AutoImageProcessor

    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        raise UserError(f"{folder} has no {FILES[0]}, which says how a picture is resized, cropped and normalised; "
                        f"copy it from the model's source.")
    with blame(path, "an image processor"):
        return AutoImageProcessor.from_pretrained(folder, backend="pil", **LOAD_OPTIONS)


def prepare(processor: "BaseImageProcessor", picture: np.ndarray) -> Prepared:
    """Preprocess a picture, uint8 (height, width, 3). Raises Unsupported if the result is not a single picture or
    cannot be converted back to colours."""
    from PIL import Image

    made = processor(images=Image.fromarray(picture), return_tensors="pt")
    pixels = made.get("pixel_values")
    if pixels is None or pixels.ndim != 4 or tuple(pixels.shape[:2]) != (1, 3):
        raise Unsupported(f"its processor turns a picture into {None if pixels is None else tuple(pixels.shape)} , "
                          f"where (1, 3, height, width) was expected")
    mean, deviation = (np.asarray(each, np.float32).reshape(-1, 1, 1) for each in (
        (processor.image_mean, processor.image_std) if getattr(processor, "do_normalize", False) else (0, 1)))
    # the size of one 8-bit step before normalisation
    step = float(processor.rescale_factor) if getattr(processor, "do_rescale", False) else 1.0
    plain = pixels[0].float().numpy() * deviation + mean
    shown = (plain / step).round().clip(0, 255).astype(np.uint8)
    if np.abs(shown * step - plain).max() > HALF * step:
        raise Unsupported("its processor's output cannot be converted back to colours")
    return Prepared(pixels.float(), np.ascontiguousarray(shown.transpose(1, 2, 0)))


CLOSE = 1e-4    # largest difference from the model's own logits
PROBES = ("a photo of a cat", "two dogs")


@with_arrays
class TextComparison:
    """A two-tower model's comparison of a picture with texts."""

    network: "Network"   # the whole model, from transformers
    tokenizer: "Tokenizer"   # the text tower's tokenizer
    lent: "Callable[[], AbstractContextManager[Network]]"   # gives the whole model for a pass

    @property
    def by_itself(self) -> bool:
        """Whether each text has its own sigmoid probability (SigLIP); otherwise, probabilities sum to 1."""
        return hasattr(self.network, "logit_bias")

    def answer(self, output: "Output", text: str) -> Prediction:
        """Rank the texts, one per line, by cosine with the picture; `output` is the vision tower's. Without texts,
        return the picture's vector, of length 1. Raises UserError for too many texts."""
        import torch

        picture = self.vector(output)
        texts = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        if not texts:
            return Prediction("vector", vector=picture.numpy().copy())
        if len(texts) > CANDIDATES:
            raise UserError(f"A picture is compared with at most {CANDIDATES} texts, one per line, but there are "
                            f"{len(texts)}; leave some out.")
        cosines = self.text_vectors(texts) @ picture
        logits = self._logits(cosines)
        normaliser = float(logits.logsumexp(-1))
        probabilities = torch.sigmoid(logits) if self.by_itself else (logits - normaliser).exp()
        order = torch.argsort(logits, descending=True, stable=True).tolist()
        pick = lambda numbers: (tuple(float(numbers[place]) for place in order),)
        return Prediction("label", (0,), (tuple(order),), (tuple(texts[place] for place in order),),
                          pick(probabilities), () if self.by_itself else (normaliser,), cosines=pick(cosines))

    def _logits(self, cosines: "Tensor") -> "Tensor":
        logits = cosines * self.network.logit_scale.exp().cpu()
        return (logits + self.network.logit_bias.cpu() if self.by_itself else logits).detach()

    def vector(self, output: "Output") -> "Tensor":
        """Return the picture's vector (d), of length 1, from its tower's output."""
        import torch

        with torch.no_grad(), self.lent():
            pooled = output.pooler_output
            projection = getattr(self.network, "visual_projection", None)
            return _unit(pooled if projection is None else projection(pooled))[0].cpu()

    def text_vectors(self, texts: tuple[str, ...]) -> "Tensor":
        """Return the texts' vectors (text, d), of length 1; texts are padded or truncated as in training."""
        import torch

        with torch.no_grad(), self.lent():
            features = self.network.get_text_features(**self.encoded(texts))
        return _unit(getattr(features, "pooler_output", features)).cpu()

    def encoded(self, texts: tuple[str, ...]) -> "dict[str, Tensor]":
        """Return the text tower's arguments. SigLIP was trained with texts padded to full length and without a mask."""
        longest = self.network.config.text_config.max_position_embeddings
        padding = "max_length" if self.by_itself else True
        encoded = self.tokenizer(list(texts), padding=padding, truncation=True, max_length=longest, return_tensors="pt")
        names = ("input_ids",) if self.by_itself else ("input_ids", "attention_mask")
        return {name: encoded[name].to(self.network.device) for name in names if name in encoded}

    def check(self, pixels: "Tensor") -> None:
        """Raise Unsupported if this comparison differs from the model's own on one picture (1, 3, height, width)."""
        import torch

        with torch.no_grad(), self.lent() as network:
            wanted = network(pixel_values=pixels, **self.encoded(PROBES)).logits_per_image[0]
            picture = self.vector(self.network.vision_model(pixel_values=pixels))
        ours = self._logits(self.text_vectors(PROBES) @ picture)
        error = float((ours - wanted.cpu()).abs().max() / wanted.abs().max().clamp(min=1))
        if not error <= max(CLOSE, 2 * torch.finfo(self.network.dtype).eps):
            raise Unsupported(f"its comparison of pictures and texts differs by {error:.2g} from ours")


def _unit(vectors: "Tensor") -> "Tensor":
    return vectors.float() / vectors.float().norm(dim=-1, keepdim=True)


UNREAD = "The text was not read: this model reads pictures alone."


@with_arrays
class PictureModel(PretrainedModel):
    """A network over patches, with an image processor instead of a tokenizer."""

    processor: "BaseImageProcessor"                  # from transformers
    comparison: TextComparison | None   # comparison with texts, for the vision tower of CLIP and SigLIP
    measured: dict[tuple[int, int], Tokens]   # the tokens of preprocessed pictures, by height and width

    def spelled(self, ids: Sequence[int]) -> str:
        """Raise UserError, because this model reads no tokens."""
        raise pictures_only(self.card.title)

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query's picture as the network's input. Raises UserError if it is missing or the model cannot
        answer the query."""
        report(0.02, "reading the picture")
        if query.image is None:
            raise pictures_only(self.card.title)
        if query.text_b or query.target or query.continuation or query.ids:
            raise UserError(f"{self.card.title} reads one picture; leave the second text and the target empty.")
        picture = pictures.find(query.image)
        try:
            prepared = prepare(self.processor, picture.pixels())
            pixels = prepared.pixels.to(self.network.device, self.network.dtype)
            size = pixels.shape[2], pixels.shape[3]
            if size not in self.measured:
                self.measured[size] = picture_tokens(self.lent, pixels)
            tokens = self.measured[size]
        except Unsupported as error:
            raise UserError(f"{self.card.title} cannot show {picture.name}: {error}; try another picture or "
                            f"model.") from error
        memory.refuse_what_does_not_fit(self.plan, len(tokens), self.card.title)
        notes = (UNREAD,) if query.text.strip() and self.comparison is None else ()
        self.check_edits(query.edits, (len(tokens), None))
        return ModelInput(tokens, None, {"pixel_values": pixels}, None, notes, prepared.shown)

    def prediction(self, query: Query, asked: ModelInput, output: "Output") -> Prediction | None:
        """Return the answer: for CLIP and SigLIP, cosines with the typed texts, one per line; for models without a
        head, such as DINOv2, every token's vector, to compare patches by cosine; None for models that predict depth or
        classes per pixel."""
        if self.comparison is not None:
            return self.comparison.answer(output, query.text)
        if self.pooling is None:
            return super().prediction(query, asked, output)
        if getattr(output, "last_hidden_state", None) is None:
            return None
        found = super().prediction(query, asked, output)
        return found and replace(found, vectors=output.last_hidden_state[0].float().cpu().numpy().copy())

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace. The embeddings' parts are measured if they are not separate modules."""
        found = super().trace(query, report, record=record)
        asked, start = self.tokens(query, report), found.start(Kind.SELF)
        special = [token for token, is_special in enumerate(asked.source.special) if is_special]
        with self.lent():
            parts = embedded_parts(self.network, asked.tensors["pixel_values"], special, len(asked.source))
        if parts is None:
            return found
        named = (("content", parts.content), ("position", parts.position))
        return replace(found, embedded=(replace(start, parts=named), *found.embedded[1:]))


class TwoTowers:
    """Both towers as one model. The vision tower answers queries with a picture, which it compares with the text; the
    text tower answers all others. The vocabulary is the text tower's. Of a vision–language model, one part reads texts
    with a picture and the other texts alone, with the same network."""

    ours = False
    vector_of = "mean"

    def __init__(self, picture: PretrainedModel, text: PretrainedModel) -> None:
        self.picture, self.text = picture, text
        self.card = picture.card
        self.nbytes = picture.nbytes + (text.nbytes if text.network is not picture.network else 0)
        self.network, self.tokenizer = text.network, text.tokenizer
        self.vocabulary, self.task, self.kinds = text.vocabulary, text.task, picture.kinds | text.kinds

    def tower(self, query: Query) -> PretrainedModel:
        """Return the tower that answers the query."""
        return self.text if query.image is None else self.picture

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """Return the query as its tower's input."""
        return self.tower(query).tokens(query, report)

    def run(self, asked: ModelInput, *given: Any, **options: Any) -> Pass:
        """Run one captured pass of the tower for this input."""
        return (self.text if asked.picture is None else self.picture).run(asked, *given, **options)

    def forward(self, tensors: "dict[str, Tensor]") -> "Tensor":
        """Run a plain pass of the tower for this input."""
        return (self.picture if "pixel_values" in tensors else self.text).forward(tensors)

    def write(self, query: Query, most: int, report: Progress = quiet) -> tuple[int, ...]:
        """Return the ids with which the query's tower continues a text."""
        return self.tower(query).write(query, most, report)

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the text of ids that the text tower reads."""
        return self.text.spelled(ids)

    def templated(self, messages: "Sequence[Mapping[str, str]]") -> str:
        """Return messages with a picture as a text, up to the start of the answer."""
        return self.picture.templated(messages)

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the record of the query's tower."""
        return self.tower(query).record(query, report)

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = (),
              record: AttentionRecord | None = None) -> Trace:
        """Return the trace of the query's tower."""
        return self.tower(query).trace(query, report, tokens, record)
