"""What the heads of the marked digit's model do: where [CLS] and the two patches look, in twins, and what a silenced
head costs.

Canvases come as twins, one after the other. No canvas is padded, so an edit means here what it means on screen. """
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.core import attention
from model.core.query import Kind, Silence
from model.scratch import edits
from model.scratch.head_analysis import SURE
from model.scratch.pictures.canvas import Canvas
from model.scratch.probe import acting, capture
from model.scratch.tasks import marked_digit
from model.scratch.transformer import Transformer

CLS = 0   # its token; the patches follow
WHERE = ("everywhere", "cls", "digits")   # rows of a head: of all tokens, of [CLS], of the patches with digits


def _cls(_canvas: Canvas) -> int:
    return CLS


def _digit(canvas: Canvas) -> int:
    return 1 + canvas.digit


def _marker(canvas: Canvas) -> int:
    return 1 + canvas.marker


# what a head may do: the row that looks, and the key that it looks at
ROLES: dict[str, tuple[Callable[[Canvas], int], Callable[[Canvas], int]]] = {
    "digit": (_cls, _digit),      # [CLS] fetches the marked digit
    "marker": (_cls, _marker),    # [CLS] finds the dot
    "below": (_digit, _marker),   # the marked digit looks at the dot below it
    "above": (_marker, _digit),   # the dot looks at the digit above it
}


@dataclass(frozen=True)
class Looking:
    """What one row of a head does with one key, over canvases."""

    role: str           # of ROLES
    layer: int          # from 0
    head: int           # from 0
    weight: float       # mean weight of the row on the key
    elsewhere: float    # the same row's mean weight on the key of the twin, where the dot is not
    both: float         # share of twins in which the key has the row's largest weight in both

    @property
    def named(self) -> bool:
        """Whether the head has this role: the key comes first in both of SURE of the twins."""
        return self.both >= SURE


def row_weights(model: Transformer, canvases: Sequence[Canvas], row: Callable[[Canvas], int]) -> np.ndarray:
    """What one row of each canvas gives to every token, float32 (layer, canvas, head, key)."""
    each, rows = torch.arange(len(canvases)), torch.tensor([row(canvas) for canvas in canvases])
    with torch.inference_mode(), capture(model) as seen:
        model(*marked_digit.batch(list(canvases)).inputs)
    weights = []
    for path, _ in edits.attentions(model).values():
        query = seen[f"{path}.query"][each, :, rows][:, :, None]                                     # (b, h, 1, d_k)
        weights.append(attention.softmax(attention.scores(query, seen[f"{path}.key"]))[:, :, 0])     # (b, h, k)
    return torch.stack(weights).numpy()


def looking(model: Transformer, canvases: Sequence[Canvas]) -> list[Looking]:
    """Every role of every head over these twins."""
    found = []
    each, twin = np.arange(len(canvases)), np.arange(len(canvases)) ^ 1
    for role, (row, key) in ROLES.items():
        weights = row_weights(model, canvases, row)                    # (layer, canvas, head, key)
        keys = np.array([key(canvas) for canvas in canvases])
        first = weights.argmax(-1) == keys[:, None]                    # (layer, canvas, head)
        both = first.reshape(len(weights), -1, 2, weights.shape[2]).all(2).mean(1)
        own, other = (weights[:, each, :, chosen].mean(0) for chosen in (keys, keys[twin]))   # (layer, head)
        found += [Looking(role, layer, head, float(own[layer, head]), float(other[layer, head]),
                          float(both[layer, head]))
                  for layer in range(len(weights)) for head in range(weights.shape[2])]
    return found


def turned(model: Transformer, canvases: Sequence[Canvas], layer: int, head: int, where: str = "everywhere") -> float:
    """The share of canvases that are read as their twins when this head puts out what it puts out for the twin, at the
    rows of one of WHERE; all else stays.

    That is activation patching (Vig et al. 2020), as the edit `Patch` does it for one picture. """
    inputs, answers = marked_digit.batch(list(canvases)).inputs, np.array([canvas.answer for canvas in canvases])
    heads = edits.attentions(model)[Kind.SELF, layer][1]
    rows = _rows(canvases, where, model.config.max_length)

    def exchange(mixed: torch.Tensor) -> torch.Tensor:
        mixed, twin = mixed.clone(), mixed.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
        mixed[:, head] = torch.where(rows[..., None], twin[:, head], mixed[:, head])
        return mixed

    with torch.inference_mode(), acting([(heads.mixed, exchange)]):
        said = model(*inputs)[:, 0].argmax(-1).numpy()
    return float((said == answers[np.arange(len(answers)) ^ 1]).mean())


def _rows(canvases: Sequence[Canvas], where: str, tokens: int) -> torch.Tensor:
    """The rows that are exchanged, bool (canvas, token)."""
    rows = np.full((len(canvases), tokens), where == "everywhere")
    if where == "cls":
        rows[:, CLS] = True
    if where == "digits":
        for number, canvas in enumerate(canvases):
            rows[number, [1 + place for place in canvas.places]] = True
    return torch.from_numpy(rows)


def share_right(model: Transformer, canvases: Sequence[Canvas], silences: Iterable[Silence] = ()) -> float:
    """The share of canvases read right with some heads silenced."""
    with edits.apply_edits(model, tuple(silences)):
        return float(marked_digit.right(model, list(canvases)).mean())


def silencing(model: Transformer, canvases: Sequence[Canvas]) -> dict[tuple[int, int], dict[str, float]]:
    """{(layer, head): {mode: the share of canvases that is still read right with this head silenced}}."""
    return {(layer, head): {mode: share_right(model, canvases, [Silence(Kind.SELF, layer, head, mode)])
                            for mode in ("zero", "mean")}
            for _, layer in edits.attentions(model) for head in range(model.config.heads)}
