"""Score the heads of the small models over many sentences or canvases, for each snapshot of a training
(model/training/processes.py). Scores measure where a row attends and which word or patch carries a decision.

Examples are pairs of twins: in even ones, "it" refers to the first noun, in odd ones to the second. They run in groups
of equal length, to avoid padding, so an edit has the same effect as on the page.
"""
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from clearhead.model.capture import forward_pass
from clearhead.model.capture.forward_pass import Slot
from clearhead.model.core import attention
from clearhead.model.core.models import OpenModel
from clearhead.model.core.query import Kind, KindHeadId
from clearhead.model.scratch import grammar
from clearhead.model.scratch.canvas import Canvas
from clearhead.model.scratch.grammar import WinogradSentence
from clearhead.model.scratch.task import Batch
from clearhead.model.scratch.tasks import marked_digit, resolver, translator
from clearhead.model.scratch.transformer import Transformer, hook_names, slots
from clearhead.model.studies import induction

DRAWS = 8          # number of random repeats for the induction model
MARKED_TWINS = 50  # pairs of canvases
TWINS = 50         # pairs of sentences for the other models, with held-out nouns

Encode = Callable[[list[WinogradSentence]], Batch]
Scores = tuple[tuple[str, ...], tuple[KindHeadId, ...], np.ndarray]   # names, heads, float32 (name, head)
Result = TypeVar("Result")
Tap = Callable[[Slot, tuple[Tensor, ...], Tensor], Tensor]


def tapped(model: Transformer, forward: Callable[[], Result], tap: Tap) -> Result:
    """Run forward(), a pass over several texts of equal length, and call `tap` in each attention layer (see
    `model.capture.forward_pass.Session.tap`)."""
    session = forward_pass.Session(hook_names(model), {(slot.module, 0): slot for slot in slots(model.config)}, tap=tap)
    return forward_pass.run(session, forward)


def row_weights(model: Transformer, inputs: Iterable[Tensor],
                rows: Sequence[int]) -> dict[tuple[Kind, int], np.ndarray]:
    """Return the weights of one row per text or picture, {(kind, layer): float32 (text, head, key)}, for the attention
    layers that have these rows."""
    seen: dict[tuple[Kind, int], np.ndarray] = {}
    each, at = torch.arange(len(rows)), torch.tensor(rows)

    def look(slot: Slot, tensors: tuple[Tensor, ...], output: Tensor) -> Tensor:
        if int(at.max()) < tensors[0].shape[2]:
            query = tensors[0][each, :, at][:, :, None]   # (b, h, 1, d_k)
            seen[slot.kind, slot.index] = attention.softmax(attention.scores(query, tensors[1]))[:, :, 0].numpy()
        return output

    tapped(model, lambda: model(*inputs), look)
    return seen


def equal_length_groups(sentences: Sequence[WinogradSentence]) -> Iterator[list[int]]:
    """Yield groups of sentences with equal lengths in both languages, as lists of indices."""
    groups = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[len(sentence.english), len(sentence.french)].append(i)
    yield from groups.values()


def noun_weights(model: Transformer, sentences: Sequence[WinogradSentence], encode: Encode, kind: Kind,
                 row: Callable[[WinogradSentence], int]) -> dict[int, np.ndarray]:
    """Return the weights from one row of each sentence to its two nouns, {layer: float32 (sentence, head, 2)}. The
    nouns are keys on the English side."""
    shares = {slot.index: np.zeros((len(sentences), model.config.heads, 2), np.float32)
              for slot in slots(model.config) if slot.kind is kind}
    for numbers in equal_length_groups(sentences):
        chosen = [sentences[i] for i in numbers]
        weights = row_weights(model, encode(chosen).inputs, [row(sentence) for sentence in chosen])
        each, places = np.arange(len(chosen))[:, None], np.array([sentence.places for sentence in chosen])
        for layer, share in shares.items():
            share[numbers] = weights[kind, layer][each, :, places].swapaxes(1, 2)
    return shares


def flip_rate(model: Transformer, sentences: Sequence[WinogradSentence], encode: Encode,
            words: Callable[[WinogradSentence], Sequence[int]]) -> float:
    """Return the share of twins with different pronouns in which il and elle swap when the encoder's output at some
    words is replaced by the twin's.

    Everything else is unchanged. The decoder reads the French up to the pronoun. A swap shows that these words carry
    the decision.
    """
    flips = []
    for first, second in zip(sentences[::2], sentences[1::2], strict=True):
        if first.nouns[0].feminine == first.nouns[1].feminine:
            continue
        source, target = encode([first, second]).inputs
        with torch.inference_mode():
            memory = model.encode(source)
            changed = memory.clone()
            changed[:, list(words(first))] = memory.flip(0)[:, list(words(first))]
            row = first.french_pronoun
            answers = model.output(model.decode(target[:, :row + 1], changed, source)[:, row]).argmax(-1)
        pronouns = encode([first, second]).targets[:, row]
        flips += (answers == pronouns.flip(0)).tolist()
    return float(np.mean(flips))


def turned(model: Transformer, canvases: Sequence[Canvas], layer: int, head: int, rows: np.ndarray) -> float:
    """Return the share of canvases classified as their twins when one head's output at some rows, bool (canvas, token),
    is replaced by the twin's.

    This is activation patching (Vig et al. 2020), like the edit `Patch` on a single picture.
    """
    inputs, answers = marked_digit.batch(list(canvases)).inputs, np.array([canvas.answer for canvas in canvases])

    def exchange(slot: Slot, _tensors: tuple[Tensor, ...], mixed: Tensor) -> Tensor:
        if slot.index == layer:
            twin = mixed[:, :, head].unflatten(0, (-1, 2)).flip(1).flatten(0, 1)   # (canvas, q, d_v)
            mixed[:, :, head] = torch.where(torch.from_numpy(rows)[..., None], twin, mixed[:, :, head])
        return mixed

    said = tapped(model, lambda: model(*inputs), exchange)[:, 0].argmax(-1).numpy()
    return float((said == answers[np.arange(len(answers)) ^ 1]).mean())


def digit_rows(canvases: Sequence[Canvas], tokens: int) -> np.ndarray:
    """Return which patches hold digits, bool (canvas, token)."""
    rows = np.zeros((len(canvases), tokens), bool)
    for number, canvas in enumerate(canvases):
        rows[number, [1 + cell for cell in canvas.cells]] = True
    return rows


def right_twins(picked: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the share of pairs with both twins correct, (head), for choices (example, head) and ground truth
    (example)."""
    return (picked == wanted[:, None]).reshape(-1, 2, picked.shape[1]).all(1).mean(0)


def score_heads(opened: OpenModel) -> Scores:
    """Score every head of one of our own models."""
    if opened.card.id.startswith("marked-digit"):
        return _marked(opened)
    if opened.card.id.startswith("induction"):
        scores = induction.mean_scores(opened, draws=DRAWS)
        return (("prefix", "previous"), tuple((Kind.CAUSAL, *head) for head in scores.heads),
                np.stack([scores.prefix, scores.previous]))
    rng = random.Random("film")
    sentences = [sentence for _ in range(TWINS) for sentence in grammar.twins(rng, "validation")]
    encode = translator.batch if opened.task == "target" else resolver.batch
    rows = {Kind.SELF: lambda sentence: sentence.pronoun}
    if opened.task == "target":
        # the row that predicts il or elle, since the target is shifted by one
        rows[Kind.CROSS] = lambda sentence: sentence.french_pronoun
    answers, shares = np.array([sentence.answer for sentence in sentences]), []
    heads: list[KindHeadId] = []
    for kind, row in rows.items():
        for layer, weights in noun_weights(opened.network, sentences, encode, kind, row).items():
            heads += [(kind, layer, head) for head in range(weights.shape[1])]
            shares += right_twins(weights.argmax(-1), answers).tolist()
    return ("both",), tuple(heads), np.array([shares], np.float32)


def _marked(opened: OpenModel) -> Scores:
    """Return for each head how often [CLS] attends most to the marked digit in both twins, and how often the answer
    becomes the twin's when the head's output at the digits' patches is replaced by the twin's."""
    model, canvases = opened.network, marked_digit.test_canvases("validation", 2 * MARKED_TWINS)
    weights = row_weights(model, marked_digit.batch(canvases).inputs, [0] * len(canvases))
    digits = np.array([1 + canvas.digit for canvas in canvases])
    fetch = {slot: right_twins(looks.argmax(-1), digits) for slot, looks in weights.items()}
    heads = [(kind, layer, head) for kind, layer in fetch for head in range(opened.card.heads)]
    rows = digit_rows(canvases, model.config.max_length)
    mark = [turned(model, canvases, layer, head, rows) for _, layer, head in heads]
    return ("fetch", "mark"), tuple(heads), np.array([np.concatenate(list(fetch.values())), mark], np.float32)
