"""A loaded model of pictures: a picture in, one captured forward pass, a record over patches out."""
from dataclasses import dataclass, replace
from typing import Any

from model.capture.forward_pass import Unsupported
from model.core import memory, pictures
from model.core.models import ModelInput
from model.core.query import Kind, Query, UserError
from model.core.record import Prediction
from model.core.trace import Trace
from model.core.types import Progress, quiet
from model.pretrained.model import PretrainedModel
from model.pretrained.vision.patches import Comparison, Cut, embedded_parts
from model.pretrained.vision.processor import prepare

UNREAD = "The text was not read: this model reads pictures alone."


@dataclass(frozen=True, eq=False)
class PictureModel(PretrainedModel):
    """A network over patches, with its image processor in the place of a tokenizer."""

    processor: Any                  # of transformers
    cut: Cut                        # of a picture into patches
    comparison: Comparison | None   # with texts, for the picture tower of CLIP and SigLIP

    def tokens(self, query: Query, report: Progress = quiet) -> ModelInput:
        """The query's picture as the network takes it. Raises UserError where there is none, or where it cannot be
        asked."""
        report(0.02, "reading the picture")
        if query.image is None:
            raise UserError(f"{self.card.title} reads pictures, not text; choose or open a picture, or choose a text "
                            f"model.")
        if query.text_b or query.target or query.continuation:
            raise UserError(f"{self.card.title} reads one picture; leave the second text and the target empty.")
        picture = pictures.find(query.image)
        try:
            prepared = prepare(self.processor, picture.pixels())
        except Unsupported as error:
            raise UserError(f"{self.card.title} cannot show {picture.name}: {error}; try another picture or "
                            f"model.") from error
        tokens = self.cut.tokens(*prepared.shown.shape[:2])
        memory.refuse_what_does_not_fit(self.plan, len(tokens), self.card.title)
        notes = (UNREAD,) if query.text.strip() and self.comparison is None else ()
        self.check_edits(query.edits, (len(tokens), None))
        return ModelInput(tokens, None, {"pixel_values": prepared.pixels}, None, notes, prepared.shown)

    def prediction(self, query: Query, asked: ModelInput, output: Any) -> Prediction | None:
        """Of a picture tower the cosines with the typed texts, a line each; of a model without a head, such as DINOv2,
        the vector of every token, by whose cosines patches are compared; of others as of any model. None of one that
        answers with a map, of depths or of classes."""
        if self.comparison is not None:
            return self.comparison.answer(output, query.text)
        if self.pooling is None:
            return super().prediction(query, asked, output)
        if getattr(output, "last_hidden_state", None) is None:
            return None
        found = super().prediction(query, asked, output)
        return found and replace(found, vectors=output.last_hidden_state[0].float().numpy().copy())

    def trace(self, query: Query, report: Progress) -> Trace:
        """As of any model; the embeddings' parts are measured, where they are no modules of their own."""
        found = super().trace(query, report)
        asked, start = self.tokens(query, report), found.start(Kind.SELF)
        special = [token for token, is_special in enumerate(asked.source.special) if is_special]
        parts = embedded_parts(self.network, asked.tensors["pixel_values"], special, len(asked.source))
        if parts is None:
            return found
        named = (("content", parts.content), ("position", parts.position))
        return replace(found, embedded=(replace(start, parts=named), *found.embedded[1:]))
