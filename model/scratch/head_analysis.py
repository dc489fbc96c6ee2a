"""What the heads of the small models do, over many sentences: where a row looks, what a silenced head costs, which word
carries a decision.

Sentences come as twins, one after the other: the even ones mean the first noun, the odd ones the second. They are run
in groups of equal length, so that there is no padding and an edit means here what it means on screen. """
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.core import attention
from model.core.query import Kind, Silence
from model.core.types import KindHeadId, head_label
from model.scratch import edits
from model.scratch.grammar import Sentence
from model.scratch.probe import capture
from model.scratch.task import Batch
from model.scratch.transformer import Transformer

Encode = Callable[[list[Sentence]], Batch]
# a head points if it gives the two nouns at least this mass together; it is named if it does so this often
POINTS, SURE = 0.5, 0.95


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
    shares = {layer: np.zeros((len(sentences), model.config.heads, 2), np.float32)
              for each, layer in edits.attentions(model) if each == kind}
    paths = {layer: path for (each, layer), (path, _) in edits.attentions(model).items() if each == kind}
    for numbers in equal_length_groups(sentences):
        chosen = [sentences[i] for i in numbers]
        each, rows = torch.arange(len(chosen)), torch.tensor([row(sentence) for sentence in chosen])
        places = torch.tensor([sentence.places for sentence in chosen])
        with torch.inference_mode(), capture(model) as seen:
            model(*encode(chosen).inputs)
        for layer, path in paths.items():
            query = seen[f"{path}.query"][each, :, rows][:, :, None]          # (b, h, 1, d_k)
            weights = attention.softmax(attention.scores(query, seen[f"{path}.key"]))[:, :, 0]  # (b, h, k)
            shares[layer][numbers] = weights[each[:, None], :, places].transpose(1, 2).numpy()
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


def judge(model: Transformer, sentences: Sequence[Sentence],
           right: Callable[[Transformer, list[Sentence]], Sequence[bool]],
           silences: Iterable[Silence] = ()) -> np.ndarray:
    """Which sentences the model gets right with some heads silenced, bool (sentence)."""
    solved = np.zeros(len(sentences), bool)
    with edits.apply_edits(model, tuple(silences)):
        for numbers in equal_length_groups(sentences):
            solved[numbers] = np.asarray(right(model, [sentences[i] for i in numbers]))
    return solved


def silencing_table(model: Transformer, right: Callable[[Iterable[Silence]], float], pointers: Sequence[KindHeadId],
             draws: int = 10) -> list[dict]:
    """What silence costs: each head alone, all pointing heads together, and as many of the others, drawn at random, a
    row each."""
    places = [(kind, layer, head) for kind, layer in edits.attentions(model) for head in range(model.config.heads)]
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


def copying(model: Transformer, layer: int, head: int) -> float:
    """Does a decoder's head say what it looks at? Σλ / Σ|λ| over the eigenvalues of W_E W_V W_O W_U, from -1 to 1
    (Elhage et al. 2021).

    1 means that every token looked at raises its own logit; layer norms and everything between are left out, as they
    do. The product's non-zero eigenvalues are those of the small matrix W_V W_O W_U W_E turned round, (d_model,
    d_model). """
    _, heads = edits.attentions(model)[Kind.CAUSAL, layer]
    d_k = model.config.d_model // model.config.heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.inference_mode():
        value_output = heads.w_value.weight[part].T @ heads.w_output.weight[:, part].T    # (d_model, d_model)
        eigenvalues = torch.linalg.eigvals(value_output @ model.output.weight.T @ model.embedding.table.weight)
    return (eigenvalues.real.sum() / eigenvalues.abs().sum()).item()
