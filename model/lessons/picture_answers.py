"""Follow a question through our small vision–language model, and measure over held-out pictures where its heads look,
which of them it needs, and which hidden patch changes its answer."""
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from clearhead.model.core import pictures
from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import Edit, HeadId, Hide, Kind, Progress, Query, Silence, counted, frozen
from clearhead.model.core.statistics import (
    HeldOut,
    MeanInterval,
    accuracy_intervals,
    cosines,
    held_out_accuracy,
    on_other_half,
)
from clearhead.model.scratch.questions import (
    ASKED,
    BLANK,
    CELLS,
    CLASSES,
    HELD_OUT,
    STEPS,
    Asked,
    Scene,
    draw_scene,
)
from clearhead.model.scratch.source import locate, network_of

if TYPE_CHECKING:
    from clearhead.model.scratch.transformer import Transformer

MODEL = "picture-questions"
SIDES = tuple(STEPS)   # kinds of questions about a neighbour
ROLES = ("asked", "found")   # the digit that a question names, and the answer
WORDS = (*map(str, range(CLASSES)), BLANK)   # words that name a patch
SCENES = 6       # shipped pictures
PICTURES = 400   # held-out pictures, each with one question about a neighbour
EDITED = 100     # of them, each asked again with every edit
FIRST = 1        # the token of the first patch


@cache
def scenes() -> tuple[Scene, ...]:
    """Return held-out pictures in which digits have neighbours on each side; in the first one, a 7 is the first digit
    with one on its left."""
    rng = random.Random("pictures of the lesson")
    found: list[Scene] = []
    while len(found) < SCENES:
        scene = draw_scene(rng, "test")
        if all(map(scene.neighbours, SIDES)) and (
                found or scene.labels[next(iter(scene.neighbours("left")))] == 7):
            found.append(scene)
    return tuple(found)


def question(number: int, side: str) -> Asked:
    """Return the question about a neighbour on this side in one of the shipped pictures."""
    return Asked(scenes()[number], side, *next(iter(scenes()[number].neighbours(side).items())))


def query(number: int, side: str, hidden: Iterable[int] = ()) -> Query:
    """Return the query of `question(number, side)`, with the patches of these cells hidden."""
    return Query(MODEL, locate(MODEL).revision, question(number, side).question, edits=hide(hidden),
                 image=pictures.examples()[MODEL][number].sha256)


def hide(cells: Iterable[int]) -> frozenset[Edit]:
    """Return the edits that hide the patches of these cells from the decoder."""
    return frozenset(Hide("source", FIRST + cell) for cell in cells)


@frozen
class Role:
    """How often the largest weight on a patch lies on the patch of the digit with this role."""

    heads: tuple[float, ...]     # for each head
    weights: tuple[float, ...]   # each head's mean weight on that patch
    best: HeldOut                # of the head that was best on the other half of the pictures
    fixed: MeanInterval          # of the best fixed offset between the tokens, chosen on the other half


@frozen
class PictureHeads:
    """Where heads look in held-out pictures, and what the model needs."""

    heads: tuple[HeadId, ...]
    roles: dict[str, Role]         # by ROLES
    chance: float                  # probability that a random digit of the picture has a given role
    hidden: dict[str, float]       # how often hiding a digit changes the answer, by ROLES and "other"
    plain: float                   # accuracy on the same questions
    silenced: tuple[float, ...]    # with each head's output set to 0

    def best(self, role: str) -> HeadId:
        """Return the head with the largest mean weight on the digit with this role."""
        weights = self.roles[role].weights
        return self.heads[weights.index(max(weights))]


@frozen
class PictureHeadsQuery(ModelQuestion):
    """Where do the heads look at the last token of a question about a neighbour, and what does the model need?"""

    def answer(self, models: Models, report: Progress) -> PictureHeads:
        """Measure it over held-out pictures."""
        from clearhead.model.scratch.tasks.picture_questions import held_out, numbered

        opened = models.open(self, report)
        by_side = [held_out("test", side, PICTURES // len(SIDES)) for side in SIDES]
        weights = np.concatenate([patch_weights(opened.network, asked) for asked in by_side])
        asked = [each for of_side in by_side for each in of_side]
        groups = np.arange(PICTURES)
        half, ends = groups % 2 == 0, np.array([CELLS + len(numbered(each.question)) for each in asked])
        roles = {}
        for role, cells in zip(ROLES, np.array([(each.cell, each.found) for each in asked]).T, strict=True):
            hits = (weights.argmax(-1) == cells[:, None]).astype(np.float64)
            on = np.take_along_axis(weights, cells[:, None, None], -1)[..., 0]
            best, (fixed, _) = held_out_accuracy(hits, on, groups, half), on_other_half(
                np.eye(ends.max())[ends - 1 - cells], half)
            assert best is not None   # there are two halves
            roles[role] = Role(tuple(hits.mean(0).tolist()), tuple(on.mean(0).tolist()), best,
                               accuracy_intervals(fixed[:, None], groups)[0])
        heads = tuple((layer, head) for layer in range(opened.card.layers) for head in range(opened.card.heads))
        said = []
        for _, each in counted(asked[::PICTURES // EDITED], report, "picture"):
            image = pictures.keep(pictures.as_png(each.scene.pixels()), "the picture").sha256
            given = opened.tokens(Query(self.model, self.revision, each.question, image=image))
            edits = [hide(()), *(hide([cell]) for cell in (each.cell, each.found, each.other)),
                     *(frozenset({Silence(Kind.CAUSAL, *head)}) for head in heads)]
            answers = [int(opened.run(given, each).outputs()[0, -1].argmax()) for each in edits]
            right_one, = opened.vocabulary.find(each.answer)
            said.append([*(answer != answers[0] for answer in answers[1:4]),
                         *(answer == right_one for answer in (answers[0], *answers[4:]))])
        *hidden, plain = (shares := np.mean(said, 0).tolist())[:4]
        return PictureHeads(heads, roles, float(np.mean([1 / len(each.scene.cells) for each in asked])),
                            dict(zip((*ROLES, "other"), hidden, strict=True)), plain, tuple(shares[4:]))


def accuracies(scores: Mapping[str, float]) -> dict[str, tuple[MeanInterval, float]]:
    """Return the share of held-out questions that the model answers, and that of the best answers without a picture, by
    kind of question. scores: those measured after training."""
    numbers = np.arange(HELD_OUT)
    right = np.stack([numbers < round(scores[f"{kind}_test"] * HELD_OUT) for kind in ASKED], 1)
    return {kind: (found, scores[f"{kind}_blind"])
            for kind, found in zip(ASKED, accuracy_intervals(right.astype(np.float64), numbers), strict=True)}


def patch_weights(network: "Transformer", asked: Sequence[Asked]) -> np.ndarray:
    """Return each head's weights on the patches at the last token of questions of one kind, (picture, head, patch)."""
    from clearhead.model.scratch.head_scores import row_weights
    from clearhead.model.scratch.tasks.picture_questions import batch, numbered

    ids, seen, _ = batch([[each] for each in asked]).inputs
    length = FIRST + CELLS + len(numbered(asked[0].question))
    rows = row_weights(network, (ids[:, :length], seen), [length - 1] * len(asked))
    return np.concatenate([*rows.values()], 1)[..., FIRST:FIRST + CELLS]


def nearness(scene: Scene) -> np.ndarray:
    """Return the cosine of each patch of a picture, as the decoder reads it, with the embedding of each of WORDS,
    float64 (patch, word)."""
    import torch

    from clearhead.model.scratch.canvas import ink
    from clearhead.model.scratch.tasks.picture_questions import TOKENIZER

    network = network_of(MODEL)
    with torch.inference_mode():
        patches = network.tower.projector(network.tower(ink(scene.pixels())[None]))[0].numpy()
        return cosines(patches, network.embedding.table.weight[[*map(TOKENIZER.number, WORDS)]].numpy())
