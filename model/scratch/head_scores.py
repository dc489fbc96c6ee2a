"""What the heads of the small models do, over many sentences or canvases: where a row looks, and which word or patch
carries a decision; of each snapshot of a training (model/training/processes.py).

Examples come as twins, one after the other: the even sentences mean the first noun, the odd ones the second. They are
run in groups of equal length, so that there is no padding and an edit means here what it means on screen. """
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from model.capture import forward_pass
from model.capture.forward_pass import Slot
from model.core import attention
from model.core.models import OpenModel
from model.core.query import Kind
from model.core.types import KindHeadId
from model.scratch import grammar
from model.scratch.canvas import Canvas
from model.scratch.grammar import Sentence
from model.scratch.task import Batch
from model.scratch.tasks import marked_digit, resolver, translator
from model.scratch.transformer import Transformer, hook_names, slots
from model.studies import induction

DRAWS = 8          # random repeats that an induction model is put to
MARKED_TWINS = 50  # pairs of canvases
TWINS = 50         # pairs of sentences that the others are put to, of nouns that were not trained on
CLS = 0            # its token; the patches follow
WHERE = ("everywhere", "cls", "digits")   # rows of a head: of all tokens, of [CLS], of the patches with digits
# a head points if it gives the two nouns at least this mass together; it is named if it does so this often
POINTS, SURE = 0.5, 0.95

Encode = Callable[[list[Sentence]], Batch]
Scores = tuple[tuple[str, ...], tuple[KindHeadId, ...], np.ndarray]   # names, heads, float32 (name, head)
Result = TypeVar("Result")
Tap = Callable[[Slot, tuple[Tensor, ...], Tensor], Tensor]


def tapped(model: Transformer, forward: Callable[[], Result], tap: Tap) -> Result:
    """forward(), a pass of the model over several equally long texts, each attention of which is handed to `tap`
    (`model.capture.forward_pass.Session.tap`)."""
    session = forward_pass.Session(hook_names(model), {(slot.module, 0): slot for slot in slots(model.config)}, tap=tap)
    found: Result = forward_pass.run(session, forward)
    return found


def row_weights(model: Transformer, inputs: Iterable[Tensor],
                rows: Sequence[int]) -> dict[tuple[Kind, int], np.ndarray]:
    """What one row of each text or picture gives to every key, {(kind, layer): float32 (text, head, key)}; of the
    attentions that have such rows."""
    seen: dict[tuple[Kind, int], np.ndarray] = {}
    each, at = torch.arange(len(rows)), torch.tensor(rows)

    def look(slot: Slot, tensors: tuple[Tensor, ...], output: Tensor) -> Tensor:
        if int(at.max()) < tensors[0].shape[2]:
            query = tensors[0][each, :, at][:, :, None]   # (b, h, 1, d_k)
            seen[slot.kind, slot.index] = attention.softmax(attention.scores(query, tensors[1]))[:, :, 0].numpy()
        return output

    tapped(model, lambda: model(*inputs), look)
    return seen


def equal_length_groups(sentences: Sequence[Sentence]) -> Iterator[list[int]]:
    """Numbers of the sentences that are equally long in both languages."""
    groups = defaultdict(list)
    for i, sentence in enumerate(sentences):
        groups[len(sentence.english), len(sentence.french)].append(i)
    yield from groups.values()


def noun_weights(model: Transformer, sentences: Sequence[Sentence], encode: Encode, kind: Kind,
                 row: Callable[[Sentence], int]) -> dict[int, np.ndarray]:
    """What one row of each sentence gives to its two nouns, {layer: float32 (sentence, head, 2)}. Nouns are keys of the
    English side."""
    shares = {slot.index: np.zeros((len(sentences), model.config.heads, 2), np.float32)
              for slot in slots(model.config) if slot.kind is kind}
    for numbers in equal_length_groups(sentences):
        chosen = [sentences[i] for i in numbers]
        weights = row_weights(model, encode(chosen).inputs, [row(sentence) for sentence in chosen])
        each, places = np.arange(len(chosen))[:, None], np.array([sentence.places for sentence in chosen])
        for layer, share in shares.items():
            share[numbers] = weights[kind, layer][each, :, places].swapaxes(1, 2)
    return shares


@dataclass(frozen=True)
class Pointing:
    """What a head does with the two nouns."""

    kind: Kind                           # of its attention
    layer: int                           # from 0
    head: int                            # from 0
    table: tuple[tuple[int, ...], ...]   # [adjective means][noun that gets more weight]: how many sentences
    mass: float                          # mean weight on both nouns together
    both: float                          # share of twins with the right noun in both sentences
    by_frame: dict[str, float]           # {frame: the same share}

    @property
    def name(self) -> str:
        """resolving, actor or place (a role head: it does not read the adjective), or nothing."""
        if self.mass < POINTS:
            return ""
        shares = [row[0] / sum(row) for row in self.table]
        roles = {"actor": min(shares), "place": 1 - max(shares)}
        return "resolving" if self.both >= SURE else next((role for role, share in roles.items() if share >= SURE), "")


def tabulate_pointing(shares: dict[int, np.ndarray], sentences: Sequence[Sentence], kind: Kind) -> list[Pointing]:
    """What the heads of `noun_weights` do, as tables."""
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


def by_frame(right: Iterable[bool], sentences: Sequence[Sentence]) -> dict[str, float]:
    """The share that is right, by frame."""
    outcomes = defaultdict(list)
    for each, sentence in zip(right, sentences, strict=True):
        outcomes[sentence.frame].append(bool(each))
    return {frame: float(np.mean(outcome)) for frame, outcome in outcomes.items()}


def flip_rate(model: Transformer, sentences: Sequence[Sentence], encode: Encode,
            words: Callable[[Sentence], Sequence[int]]) -> float:
    """Of twins whose pronoun differs: how often il and elle change places when the encoder's output at some words comes
    from the twin.

    Everything else stays. The decoder is given the French up to the pronoun; where the change flips it, there lies the
    decision. """
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


def looking(model: Transformer, canvases: Sequence[Canvas]) -> list[Looking]:
    """Every role of every head over these twins."""
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


def turned(model: Transformer, canvases: Sequence[Canvas], layer: int, head: int, where: str = "everywhere") -> float:
    """The share of canvases that are read as their twins when this head puts out what it puts out for the twin, at the
    rows of one of WHERE; all else stays.

    That is activation patching (Vig et al. 2020), as the edit `Patch` does it for one picture. """
    inputs, answers = marked_digit.batch(list(canvases)).inputs, np.array([canvas.answer for canvas in canvases])
    rows = _rows(canvases, where, model.config.max_length)

    def exchange(slot: Slot, _tensors: tuple[Tensor, ...], mixed: Tensor) -> Tensor:
        if slot.index == layer:
            twin = mixed[:, :, head].unflatten(0, (-1, 2)).flip(1).flatten(0, 1)   # (canvas, q, d_v)
            mixed[:, :, head] = torch.where(rows[..., None], twin, mixed[:, :, head])
        return mixed

    said = tapped(model, lambda: model(*inputs), exchange)[:, 0].argmax(-1).numpy()
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


def score_heads(opened: OpenModel) -> Scores:
    """The scores of every head of an open model of ours."""
    if opened.card.id.startswith("marked-digit"):
        return _marked(opened)
    if opened.card.id.startswith("induction"):
        scores = induction.mean_scores(opened, draws=DRAWS)
        heads = tuple((Kind.CAUSAL, *head) for head in scores.heads)
        return ("prefix", "previous"), heads, np.stack([scores.prefix, scores.previous])
    rng = random.Random("film")
    sentences = [sentence for _ in range(TWINS) for sentence in grammar.twins(rng, "validation")]
    encode = translator.batch if opened.task == "target" else resolver.batch
    rows = {Kind.SELF: lambda sentence: sentence.pronoun}
    if opened.task == "target":
        # the row that produces il or elle: the target is shifted by one
        rows[Kind.CROSS] = lambda sentence: sentence.french_pronoun
    pointing = []
    for kind, row in rows.items():
        weights = noun_weights(opened.network, sentences, encode, kind, row)
        pointing += tabulate_pointing(weights, sentences, kind)
    return (("both",), tuple((head.kind, head.layer, head.head) for head in pointing),
            np.array([[head.both for head in pointing]], np.float32))


def _marked(opened: OpenModel) -> Scores:
    """How often [CLS] looks most at the marked digit in both twins, and how often the answer becomes the twin's when
    the patches with digits get from the head what they get in the twin."""
    model, canvases = opened.network, marked_digit.test_canvases("validation", 2 * MARKED_TWINS)
    fetching = {(each.layer, each.head): each.both for each in looking(model, canvases) if each.role == "digit"}
    values = [[fetching[head] for head in fetching],
              [turned(model, canvases, *head, "digits") for head in fetching]]
    return ("fetch", "mark"), tuple((Kind.SELF, *head) for head in fetching), np.array(values, np.float32)
