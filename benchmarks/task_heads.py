"""Tabulate what the small models' heads do in their tasks: what they attend to in twins, and the effect of silencing.

Twins follow each other in the lists of examples (model/scratch/head_scores.py).
"""
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch

from clearhead.model.capture.forward_pass import Slot
from clearhead.model.core.query import Kind, KindHeadId, Silence, head_label
from clearhead.model.scratch import head_scores
from clearhead.model.scratch.canvas import Canvas
from clearhead.model.scratch.grammar import WinogradSentence
from clearhead.model.scratch.head_scores import equal_length_groups, row_weights
from clearhead.model.scratch.tasks import marked_digit
from clearhead.model.scratch.transformer import Transformer, slots

CLS = 0            # position of [CLS]; the patches follow
WHERE = ("everywhere", "cls", "digits")   # rows of a head: all tokens, [CLS], or the patches with digits
# minimum total weight on both nouns for a head to point at them, and minimum share of twins for it to be named
POINTS, SURE = 0.5, 0.95
Result = TypeVar("Result")


@dataclass(frozen=True)
class Pointing:
    """How a head distributes its weight between the two nouns."""

    kind: Kind                           # kind of attention
    layer: int                           # from 0
    head: int                            # from 0
    table: tuple[tuple[int, ...], ...]   # number of sentences [meaning of the adjective][noun with more weight]
    mass: float                          # mean total weight on both nouns
    both: float                          # share of twins with the correct noun in both sentences
    by_frame: dict[str, float]           # {frame: this share}

    @property
    def name(self) -> str:
        """Role of the head: "resolving", "actor" or "place" (both of which ignore the adjective), or ""."""
        if self.mass < POINTS:
            return ""
        shares = [row[0] / sum(row) for row in self.table]
        roles = {"actor": min(shares), "place": 1 - max(shares)}
        return "resolving" if self.both >= SURE else next((role for role, share in roles.items() if share >= SURE), "")


def tabulate_pointing(shares: dict[int, np.ndarray], sentences: Sequence[WinogradSentence],
                      kind: Kind) -> list[Pointing]:
    """Tabulate what the heads in `noun_weights` point at."""
    answers = np.array([sentence.answer for sentence in sentences])
    heads = []
    for layer, weights in shares.items():
        picked = weights.argmax(-1)  # (sentence, head)
        for head in range(weights.shape[1]):
            table = tuple(tuple(int(((answers == answer) & (picked[:, head] == noun)).sum()) for noun in (0, 1))
                          for answer in (0, 1))
            both = (picked[:, head] == answers).reshape(-1, 2).all(1)
            mass = float(weights[:, head].sum(-1).mean())
            heads.append(Pointing(kind, layer, head, table, mass, float(both.mean()), by_frame(both, sentences[::2])))
    return heads


def by_frame(right: Iterable[bool], sentences: Sequence[WinogradSentence]) -> dict[str, float]:
    """Return {frame: share of correct sentences}."""
    outcomes = defaultdict(list)
    for each, sentence in zip(right, sentences, strict=True):
        outcomes[sentence.frame].append(bool(each))
    return {frame: float(np.mean(outcome)) for frame, outcome in outcomes.items()}


def _cls(_canvas: Canvas) -> int:
    return CLS


def _digit(canvas: Canvas) -> int:
    return 1 + canvas.digit


def _marker(canvas: Canvas) -> int:
    return 1 + canvas.marker


# roles of a head: {name: (query, key)}
ROLES: dict[str, tuple[Callable[[Canvas], int], Callable[[Canvas], int]]] = {
    "digit": (_cls, _digit),      # [CLS] attends to the marked digit
    "marker": (_cls, _marker),    # [CLS] attends to the dot
    "below": (_digit, _marker),   # the marked digit attends to the dot below it
    "above": (_marker, _digit),   # the dot attends to the digit above it
}


@dataclass(frozen=True)
class Looking:
    """How much a head attends from the query to the key of a role, over canvases."""

    role: str           # one of ROLES
    layer: int          # from 0
    head: int           # from 0
    weight: float       # mean weight on the key
    elsewhere: float    # mean weight of the same query on the twin's key, as a control
    both: float         # share of twins in which the key has the largest weight in both canvases

    @property
    def named(self) -> bool:
        """Whether the head has this role: the key has the largest weight in a share SURE of the twins."""
        return self.both >= SURE


def looking(model: Transformer, canvases: Sequence[Canvas]) -> list[Looking]:
    """Measure every role of every head over these twins."""
    found, inputs = [], marked_digit.batch(list(canvases)).inputs
    each, twin = np.arange(len(canvases)), np.arange(len(canvases)) ^ 1
    for role, (row, key) in ROLES.items():
        weights = np.stack(list(row_weights(model, inputs, [row(canvas) for canvas in canvases]).values()))
        keys = np.array([key(canvas) for canvas in canvases])
        first = weights.argmax(-1) == keys[:, None]                    # (layer, canvas, head)
        both = first.reshape(len(weights), -1, 2, weights.shape[2]).all(2).mean(1)
        own, other = (weights[:, each, :, chosen].mean(0) for chosen in (keys, keys[twin]))   # (layer, head)
        found += [Looking(role, layer, head, float(own[layer, head]), float(other[layer, head]),
                          float(both[layer, head]))
                  for layer in range(len(weights)) for head in range(weights.shape[2])]
    return found


def rows_at(canvases: Sequence[Canvas], where: str, tokens: int) -> np.ndarray:
    """Return the rows selected by one of WHERE, bool (canvas, token)."""
    if where == "digits":
        return head_scores.digit_rows(canvases, tokens)
    return np.tile(np.arange(tokens) == CLS if where == "cls" else np.ones(tokens, bool), (len(canvases), 1))


def attentions(model: Transformer) -> list[tuple[Kind, int]]:
    return [(slot.kind, slot.index) for slot in slots(model.config)]


def silenced_pass(model: Transformer, right: Callable[[], Result],
                  silences: Iterable[Silence]) -> Result:
    """Return right(), computed with some heads silenced. All texts must have the same length."""
    silences = tuple(silences)

    def silence(slot: Slot, _tensors: tuple, mixed: torch.Tensor) -> torch.Tensor:
        for each in silences:
            if (each.kind, each.layer) == (slot.kind, slot.index):
                mean = mixed[:, :, each.head].mean(1, keepdim=True)
                mixed[:, :, each.head] = mean if each.mode == "mean" else 0
        return mixed

    return head_scores.tapped(model, right, silence)


def judge(model: Transformer, sentences: Sequence[WinogradSentence],
           right: Callable[[Transformer, list[WinogradSentence]], Sequence[bool]],
           silences: Iterable[Silence] = ()) -> np.ndarray:
    """Return which sentences the model answers correctly with some heads silenced, bool (sentence)."""
    solved = np.zeros(len(sentences), bool)
    for numbers in equal_length_groups(sentences):
        chosen = [sentences[i] for i in numbers]
        solved[numbers] = np.asarray(silenced_pass(model, partial(right, model, chosen), silences))
    return solved


def silencing_table(model: Transformer, right: Callable[[Iterable[Silence]], float], pointers: Sequence[KindHeadId],
                    draws: int = 10) -> list[dict]:
    """Return one row for each silenced set of heads: each head alone, all pointing heads together, and the same number
    of other heads, drawn at random."""
    places = [(kind, layer, head) for kind, layer in attentions(model) for head in range(model.config.heads)]
    others = [place for place in places if place not in pointers]
    rows: list[dict] = [{"heads": "none", "zero": right(()), "mean": right(())}]
    sets = [(f"{kind} {head_label(layer, head)}", [[(kind, layer, head)]]) for kind, layer, head in places]
    if pointers:
        sets.append((f"all that point: {len(pointers)}", [list(pointers)]))
    if 0 < len(pointers) <= len(others):
        rng = random.Random(1)
        sets.append((f"as many others at random: {len(pointers)}",
                     [rng.sample(others, len(pointers)) for _ in range(draws)]))
    for name, choices in sets:
        figures = {mode: float(np.mean([right([Silence(*place, mode) for place in chosen]) for chosen in choices]))
                   for mode in ("zero", "mean")}
        rows.append({"heads": name} | figures)
    return rows


def share_right(model: Transformer, canvases: Sequence[Canvas], silences: Iterable[Silence] = ()) -> float:
    """Return the model's accuracy on canvases with some heads silenced."""
    return float(silenced_pass(model, partial(marked_digit.right, model, list(canvases)), silences).mean())


def silencing(model: Transformer, canvases: Sequence[Canvas]) -> dict[tuple[int, int], dict[str, float]]:
    """Return {(layer, head): {mode: accuracy on canvases with this head silenced}}."""
    return {(layer, head): {mode: share_right(model, canvases, [Silence(Kind.SELF, layer, head, mode)])
                            for mode in ("zero", "mean")}
            for _, layer in attentions(model) for head in range(model.config.heads)}
