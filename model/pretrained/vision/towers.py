"""Models with a tower for pictures and one for texts, CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023): each
tower is a model of its own here, and a picture is compared with typed texts as the whole model does it."""
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from model.capture.attention_call import Unsupported
from model.core.models import LastVectorsQuery
from model.core.query import Query, UserError
from model.core.record import CANDIDATES, AttentionRecord, Card, Prediction
from model.core.trace import LastVectors, Trace
from model.core.types import Progress

if TYPE_CHECKING:
    from torch import Tensor

# types whose two towers end in vectors that are compared by their cosine
TYPES = frozenset({"clip", "siglip", "metaclip_2", "chinese_clip"})
CLOSE = 1e-4    # of the model's own logits, how far ours may be from them
PROBES = ("a photo of a cat", "two dogs")


@dataclass(frozen=True, eq=False)
class Comparison:
    """How the model compares a picture with texts."""

    network: Any     # the whole model, of transformers
    tokenizer: Any   # of its text tower

    @property
    def by_itself(self) -> bool:
        """Whether each text has a probability of its own, by a sigmoid (SigLIP), instead of a share of one."""
        return hasattr(self.network, "logit_bias")

    def answer(self, output: Any, text: str) -> Prediction:
        """The texts, a line each, by their cosine with the picture whose tower put out `output`; without texts the
        picture's own vector, of length 1. Raises UserError for more texts than are kept."""
        import torch

        picture = self.vector(output)
        texts = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
        if not texts:
            return Prediction("vector", vector=picture.numpy().copy())
        if len(texts) > CANDIDATES:
            raise UserError(f"A picture is compared with at most {CANDIDATES} texts, a line each, and there are "
                            f"{len(texts)}; leave some out.")
        cosines = self.text_vectors(texts) @ picture
        logits = self._logits(cosines)
        normaliser = float(logits.logsumexp(-1))
        probabilities = torch.sigmoid(logits) if self.by_itself else (logits - normaliser).exp()
        order = torch.argsort(logits, descending=True, stable=True).tolist()
        pick = lambda numbers: (tuple(float(numbers[place]) for place in order),)
        return Prediction("label", (0,), (tuple(order),), (tuple(texts[place] for place in order),),
                          pick(probabilities), (normaliser,), cosines=pick(cosines))

    def _logits(self, cosines: "Tensor") -> "Tensor":
        logits = cosines * self.network.logit_scale.exp()
        return (logits + self.network.logit_bias if self.by_itself else logits).detach()

    def vector(self, output: Any) -> "Tensor":
        """The picture's vector (d), of length 1, from what its tower put out."""
        import torch

        with torch.inference_mode():
            pooled = output.pooler_output
            projection = getattr(self.network, "visual_projection", None)
            return _unit(pooled if projection is None else projection(pooled))[0]

    def text_vectors(self, texts: tuple[str, ...]) -> "Tensor":
        """The texts' vectors (text, d), of length 1; each is padded or cut as the model was trained."""
        import torch

        with torch.inference_mode():
            features = self.network.get_text_features(**self.encoded(texts))
        return _unit(getattr(features, "pooler_output", features))

    def encoded(self, texts: tuple[str, ...]) -> Any:
        """The arguments of the text tower: SigLIP was trained with texts of full length, and without a mask."""
        longest = self.network.config.text_config.max_position_embeddings
        padding = "max_length" if self.by_itself else True
        encoded = self.tokenizer(list(texts), padding=padding, truncation=True, max_length=longest, return_tensors="pt")
        names = ("input_ids",) if self.by_itself else ("input_ids", "attention_mask")
        return {name: encoded[name] for name in names if name in encoded}

    def check(self, pixels: "Tensor") -> None:
        """Raises Unsupported where this comparison is not the model's own, on one picture (1, 3, height, width)."""
        import torch

        with torch.inference_mode():
            wanted = self.network(pixel_values=pixels, **self.encoded(PROBES)).logits_per_image[0]
            picture = self.vector(self.network.vision_model(pixel_values=pixels))
        ours = self._logits(self.text_vectors(PROBES) @ picture)
        error = float((ours - wanted).abs().max() / wanted.abs().max().clamp(min=1))
        if not error <= CLOSE:
            raise Unsupported(f"its comparison of pictures and texts differs by {error:.2g} from ours")


def _unit(vectors: "Tensor") -> "Tensor":
    return vectors.float() / vectors.float().norm(dim=-1, keepdim=True)


class TwoTowers:
    """Both towers behind one name: what has a picture is put to the picture tower, which compares it with the text;
    what has none to the text tower."""

    def __init__(self, picture: Any, text: Any) -> None:
        self.picture, self.text = picture, text   # a PictureModel, a PretrainedModel

    def tower(self, query: Query) -> Any:
        """The tower that a query is put to."""
        return self.text if query.image is None else self.picture

    @property
    def card(self) -> Card:
        """That of the picture tower."""
        return self.picture.card

    @property
    def nbytes(self) -> int:
        """Bytes of the weights of both."""
        return self.picture.nbytes + self.text.nbytes

    @property
    def tokenizer(self) -> Any:
        """That of the text tower."""
        return self.text.tokenizer

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The record of the query's tower."""
        return self.tower(query).record(query, report)

    def trace(self, query: Query, report: Progress) -> Trace:
        """The trace of the query's tower."""
        return self.tower(query).trace(query, report)

    def last_vectors(self, question: LastVectorsQuery, report: Progress) -> LastVectors:
        """What the last block of the query's tower puts out."""
        return self.tower(question.query).last_vectors(question, report)

    def patch_heads(self, question: Any, report: Progress) -> Any:
        """Every head of the queries' tower patched. Raises UserError for a picture and a text."""
        if (question.first.image is None) != (question.second.image is None):
            raise UserError("A head's output can only be taken from the same tower; compare two pictures or two texts.")
        return self.tower(question.first).patch_heads(question, report)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a model can be asked is asked of the text tower."""
        if name.startswith("__") or name in ("text", "picture"):
            raise AttributeError(name)
        return getattr(self.text, name)
