"""Train a decoder to answer questions about pictures of digits (model/scratch/questions.py), which it reads through a
Vision Transformer and a projector."""
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from clearhead.model.scratch import questions
from clearhead.model.scratch.canvas import SIDE, ink
from clearhead.model.scratch.questions import ASKED, BEFORE, BLANK, CELLS, HELD_OUT, WORDS, Asked
from clearhead.model.scratch.task import NO_TARGET, Batch, Task, correct_rows, pad_rows
from clearhead.model.scratch.tokens import END, QuestionTokenizer
from clearhead.model.scratch.transformer import Config, Transformer

TOKENIZER = QuestionTokenizer(WORDS)
QUESTIONS = 6   # per training picture


@cache
def numbered(text: str) -> tuple[int, ...]:
    """Return the ids of a text."""
    return tuple(piece.id for piece in TOKENIZER.pieces(text))


def batch(asked: Iterable[Sequence[Asked]]) -> Batch:
    """Return a batch of pictures, each with several questions that do not see one another. The targets are the answers,
    at the last token of each question and what follows."""
    rows, positions, targets, names, pixels = [], [], [], [], []
    for about in asked:
        scene = about[0].scene
        row, places, wanted = [*BEFORE], [*range(len(BEFORE))], [NO_TARGET] * len(BEFORE)
        for each in about:
            question, answer = numbered(each.question), numbered(each.answer)
            row += [*question, *answer]
            places += range(len(BEFORE), len(BEFORE) + len(question) + len(answer))
            wanted += [*[NO_TARGET] * (len(question) - 1), *answer, END]
        rows.append(row)
        positions.append(places)
        targets.append(wanted)
        names.append([TOKENIZER.number(str(scene.labels.get(cell, BLANK))) for cell in range(CELLS)])
        pixels.append(scene.pixels())
    return Batch((pad_rows(rows), ink(np.stack(pixels)), pad_rows(positions)), pad_rows(targets, NO_TARGET),
                 torch.tensor(names))


def draw(rng: random.Random, size: int) -> Batch:
    """Draw a training batch."""
    return batch(questions.several(rng, QUESTIONS) for _ in range(size))


def loss(model: Transformer, batch: Batch) -> Tensor:
    """Return the cross-entropy of the answers plus that of the patches' names, in nats.

    The vision tower and the projector learn to bring each patch near the word for its digit. The error of the answers
    does not reach the tower, so that it cannot learn to answer: what a question needs beyond the names of the patches,
    the decoder has to find.
    """
    ids, pictures, positions = batch.inputs
    seen = model.tower(pictures)
    answers = model.output(model.read(ids, model.tower.projector(seen.detach()), positions))
    names = model.output(model.tower.projector(seen))
    assert batch.names is not None
    return sum((nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET)
                for logits, targets in ((answers, batch.targets), (names, batch.names))), torch.tensor(0.0))


def held_out(split: str, kind: str, size: int = HELD_OUT) -> list[Asked]:
    """Return questions of one kind about pictures with held-out digits in held-out cells; always the same ones."""
    rng = random.Random(f"picture questions {split} {kind}")
    return [questions.draw(rng, split, kind) for _ in range(size)]


def without_picture(kind: str, size: int = 20_000) -> float:
    """Return the share of questions of one kind that the best fixed answer to each gets right. No model that does not
    see the picture is better on average."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in held_out("test", kind, size):
        counts[each.question][each.answer] += 1
    return sum(max(answers.values()) for answers in counts.values()) / size


def score(model: Transformer) -> dict[str, float]:
    """Return the share of questions answered correctly by kind and split, and that of the best answers without a
    picture."""
    right = lambda asked: correct_rows(model, batch([each] for each in asked)).double().mean().item()
    return {f"{kind}_{split}": right(held_out(split, kind)) for kind in ASKED for split in ("validation", "test")} | {
        f"{kind}_blind": without_picture(kind) for kind in ASKED}


CONFIG = Config(vocabulary=len(WORDS), d_model=64, heads=2, d_ff=128, encoder_layers=1, decoder_layers=4,
                positions="learned", max_length=32, dropout=0.0, norm_first=True, final_norm=True, activation="gelu",
                patch=SIDE)
TASKS = (Task("picture-questions", "picture questions: a vision tower and a decoder, 4 layers × 2 heads", CONFIG, WORDS,
              draw, score, steps=8_000, batch=24, loss=loss),)
