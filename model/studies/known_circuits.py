"""Replicate known circuits on the available models: induction (Olsson et al. 2022), indirect objects (Wang et al. 2022,
with our own sentences), and whether two methods identify the same head.

Each finding is one number with the value of a baseline or control. Intervals are over independent units: random
sequences, or the templates of sentences, whose sentences depend on each other.
"""
import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np

from clearhead.model.core.models import ModelQuestion, Models, OpenModel
from clearhead.model.core.query import HeadId, Kind, Progress, Query, Silence, batches, counted, frozen, quiet
from clearhead.model.core.statistics import (
    DRAWS,
    FEWEST,
    LEVEL,
    SEED,
    accuracy_intervals,
    mean_intervals,
    percentiles,
    rank_correlations,
    spearman,
)
from clearhead.model.studies import induction
from clearhead.model.studies.contributions import WritesQuery
from clearhead.model.studies.induction import mean_scores, random_tokens, repeated, usable_tokens
from clearhead.model.studies.mechanisms import MechanismsQuery
from clearhead.model.studies.patching import PatchQuery
from clearhead.model.studies.paths import READS, PathsQuery

NAN = float("nan")
FORMED = 0.5                        # minimum score (0 to 1) of an induction head
SEQUENCES = 24                      # number of sequences for path patching in the induction decoder
LENGTH, REPEATED = 12, 24           # tokens to repeat, and number of sequences, for the induction decoder
SHORT, FEW = 10, FEWEST             # the same for a pretrained decoder, smaller because every head is zeroed in turn
TOKENS = 256                        # maximum number of tokens in all rows of a pass
PAIRS = 24                          # pairs of names in the indirect-object sentences, equally many per template
NAMES = ("Mary", "John", "Tom", "Anna", "Peter", "Sarah", "Paul", "Emma", "James", "Laura", "David", "Alice")
TEMPLATES = ("When {a} and {b} walked to the market, {s} handed a basket to",
             "After {a} and {b} had finished dinner, {s} passed the salt to",
             "While {a} and {b} waited for the train, {s} offered a sandwich to",
             "Because {a} and {b} shared the garden, {s} lent a ladder to",
             "Before {a} and {b} left the library, {s} returned a book to",
             "Once {a} and {b} had met at the station, {s} gave the tickets to",
             "Although {a} and {b} rarely spoke, {s} sent a letter to",
             "As {a} and {b} painted the fence, {s} threw a brush to",
             "Since {a} and {b} worked in one office, {s} showed the plans to",
             "Yesterday {a} and {b} cleaned the boat, and {s} sold the old sails to",
             "Then {a} and {b} sat down in the park, and {s} read a poem to",
             "In the kitchen {a} and {b} baked bread, and {s} brought the flour to")
SENTENCE = "The animal didn't cross the street because it was too {word}."
TWINS = ("tired", "wide")


@frozen
class Replication:
    """A measured statement. name: key of its sentence in assets/text."""

    name: str
    value: float
    low: float = NAN                # lower end of the 95% interval, over sequences or templates
    high: float = NAN
    chance: float = NAN             # value of the baseline or control
    holds: bool = True              # whether the published finding was replicated
    heads: tuple[HeadId, ...] = ()


@frozen
class KnownCircuits:
    """The findings of one model."""

    findings: tuple[Replication, ...]


@frozen
class KnownCircuitsQuery(ModelQuestion):
    """Which known circuits does one of MODELS have?"""

    def answer(self, models: Models, report: Progress) -> KnownCircuits:
        """Measure the findings."""
        return KnownCircuits(tuple(finding for measure in MODELS[self.model]
                                   for finding in measure(self, models, report)))


def _mean(name: str, values: np.ndarray, chance: float = NAN, heads: tuple[HeadId, ...] = (), *,
          groups: np.ndarray | None = None, above: float = -np.inf, holds: bool = True) -> Replication:
    """Return a finding that is a mean over texts, with its interval over their independent groups (by default each text
    is one), which has to be `above` a number."""
    found = mean_intervals(np.asarray(values)[:, None], groups)[0]
    return Replication(name, found.value, found.low, found.high, chance, holds and found.low > above, heads)


def composition(asked: KnownCircuitsQuery, models: Models, report: Progress) -> Iterator[Replication]:
    """Compare the K-composition of the previous-token head and an induction head with that of all pairs, and with pairs
    in the impossible order."""
    found = MechanismsQuery(asked.model, asked.revision).answer(models, report)
    scores, previous = found.composition["K"], int(found.detected["previous"].argmax())
    one, other = (int(place) for place in np.unravel_index(np.nanargmax(scores), scores.shape))
    formed = found.detected["induction"] >= FORMED
    yield Replication("composition", float(scores[one, other]), chance=found.null["K"].high,
                      holds=bool(one == previous and formed[other] and scores[one, other] > found.null["K"].high),
                      heads=(found.heads[one], found.heads[other]))
    opened = models.open(asked, quiet)
    edits = frozenset({Silence(Kind.CAUSAL, *found.heads[previous])})
    silenced = np.array([induction.scores(repeated(opened, seed, edits, LENGTH), LENGTH).prefix[formed].mean()
                         for seed in range(SEQUENCES)])
    yield _mean("silenced", silenced, float(found.detected["induction"][formed].mean()), (found.heads[previous],),
                holds=bool(silenced.mean() < FORMED))


def paths_of_induction(asked: KnownCircuitsQuery, models: Models, report: Progress) -> Iterator[Replication]:
    """Patch every path into the induction heads. The sequences are … a b … c d … a; their twins exchange a and c."""
    opened = models.open(asked, quiet)
    scores = mean_scores(opened, draws=REPEATED, length=LENGTH)
    previous = scores.heads[int(scores.previous.argmax())]
    receivers = [head for head, score in zip(scores.heads, scores.prefix.tolist(), strict=True) if score >= FORMED]
    shares: dict[tuple[HeadId, HeadId, str], list[float]] = {}
    named = []
    for text, twin, answer, rival in exchanged(opened, asked, SEQUENCES):
        position = len(opened.tokens(text).source) - 1
        for receiver, read in itertools.product(receivers, READS):
            found = PathsQuery(text, twin, position, answer, rival, receiver, (read,)).answer(models, quiet)
            moved = (found.patched - found.plain) / (found.twin - found.plain)
            for sender, share in zip(found.senders, moved.tolist(), strict=True):
                shares.setdefault((sender, receiver, read), []).append(share)
        named.append(WritesQuery(text, position, answer, rival).answer(models, quiet).heads.ravel())
    means = {path: float(np.mean(values)) for path, values in shares.items()}
    expected = [path for path in means if path[0] == previous and path[2] == "key"]
    best = max(expected, key=means.__getitem__)
    others = max(abs(mean) for path, mean in means.items() if path not in expected)
    yield _mean("path", np.array(shares[best]), others, best[:2], above=2 * others)
    grid = np.array(named)
    top = int(grid.mean(0).argmax())
    rest = max(float(mean) for head, mean in zip(scores.heads, grid.mean(0), strict=True) if head not in receivers)
    yield _mean("direct", grid[:, top], rest, (scores.heads[top],), holds=scores.heads[top] in receivers)


def exchanged(opened: OpenModel, asked: KnownCircuitsQuery, count: int) -> Iterator[tuple[Query, Query, int, int]]:
    """Yield random token sequences a b … c d … a with their twins c b … a d … a, the answer b and its rival d."""
    usable, rng = usable_tokens(opened.tokenizer), random.Random(1)
    for _ in range(count):
        a, b, c, d, *rest = rng.sample(usable, LENGTH + 4)
        middle, end = rest[:len(rest) // 2], rest[len(rest) // 2:]
        text, twin = (random_tokens(opened, [one, b, *middle, other, d, *end, a]) for one, other in ((a, c), (c, a)))
        yield text, twin, b, d


def induction_effects(asked: KnownCircuitsQuery, models: Models, report: Progress) -> Iterator[Replication]:
    """Compare each head's induction score with how much zeroing it lowers the log-probability of repeated tokens.
    Intervals are over sequences; the null exchanges layers, because the heads of one depend on each other."""
    opened = models.open(asked, quiet)
    drawn = [induction.scores(repeated(opened, seed, length=SHORT), SHORT) for seed in range(FEW)]
    heads, scores = drawn[0].heads, np.array([each.prefix for each in drawn])   # (sequence, head)
    changes = np.array([_zeroed(opened, asked, heads, seed, report) for seed in range(FEW)])
    score, loss = scores.mean(0), changes.mean(0)
    draws = np.random.default_rng(SEED).integers(FEW, size=(DRAWS, FEW))
    resampled = scores[draws].mean(1), changes[draws].mean(1)   # (draw, head)
    exchanged_losses = loss[exchanged_layers(np.array([layer for layer, _ in heads]))]
    rho, rhos = spearman(score, loss), np.array([*map(spearman, *resampled)])
    limit = float(np.quantile(np.abs(rank_correlations(score[None], exchanged_losses)), LEVEL))
    yield Replication("agree", rho, *percentiles(rhos), limit, rho > limit,
                      (heads[int(score.argmax())], heads[int(loss.argmax())]))
    strong = np.argsort(-score)[:max(1, len(score) // 20)]
    # medians, because one head (in SmolLM2 16·0) dominates any mean
    cost, luck = float(np.median(loss[strong])), float(np.quantile(np.median(exchanged_losses[:, strong], 1), LEVEL))
    yield Replication("effect", cost, *percentiles(np.median(resampled[1][:, strong], 1)), luck, cost > luck,
                      tuple(heads[place] for place in strong[:5]))


def exchanged_layers(layers: np.ndarray) -> np.ndarray:
    """Draw random orders of heads that keep each layer together, int (DRAWS, head). layers: each head's layer,
    ascending; all layers have equally many heads."""
    rng, grid = np.random.default_rng(SEED), np.arange(len(layers)).reshape(len(set(layers.tolist())), -1)
    return np.array([rng.permuted(rng.permutation(grid), axis=1).ravel() for _ in range(DRAWS)])


def _zeroed(opened: OpenModel, asked: KnownCircuitsQuery, heads: tuple[HeadId, ...], seed: int,
            report: Progress) -> np.ndarray:
    """Return the increase in loss on the repeated tokens, in nats, when each head is zeroed alone, float64 (head)."""
    import torch

    chosen = random.Random(seed + 1).sample(usable_tokens(opened.tokenizer), SHORT)
    given = opened.tokens(random_tokens(opened, [*chosen, *chosen]))
    plain = opened.run(given, every=True)
    begin = plain.outputs().shape[1] - SHORT

    def loss(logits: torch.Tensor) -> np.ndarray:
        read = torch.log_softmax(logits[:, begin:-1].float(), -1)
        return -read[:, torch.arange(SHORT - 1), torch.tensor(chosen[1:])].mean(1).numpy()

    before, after, size = float(loss(plain.outputs())[0]), list[float](), max(1, TOKENS // (2 * SHORT + 1))
    for rows in batches([{(Kind.CAUSAL, layer, head): torch.zeros_like(plain.heads[Kind.CAUSAL, layer][:, head])}
                         for layer, head in heads], size, report, "zeroed head"):
        after += loss(opened.run(given, rows=rows, every=True).outputs()).tolist()
    return np.array(after) - before


def indirect_objects(asked: KnownCircuitsQuery, models: Models, report: Progress) -> Iterator[Replication]:
    """Measure indirect-object identification: accuracy, logit difference, and the heads that write or move the name."""
    rng, rows = random.Random(1), []
    for number, _ in counted(range(PAIRS), report, "sentence"):
        a, b, *others = rng.sample(NAMES, 4)
        subject, receiver = (a, b) if number // len(TEMPLATES) % 2 else (b, a)
        text, twin = (Query(asked.model, asked.revision, TEMPLATES[number % len(TEMPLATES)].format(a=a, b=b, s=name))
                      for name in (subject, receiver))
        position = len(models.record(text, quiet)[Kind.CAUSAL].queries) - 1
        written, control = (WritesQuery(text, position, f" {one}", f" {other}").answer(models, quiet)
                            for one, other in ((receiver, subject), others))
        found = PathsQuery(text, twin, position, f" {receiver}", f" {subject}").answer(models, quiet)
        rows.append((written.difference, found.twin, written.heads.ravel(), control.heads.ravel(),
                     found.patched - found.plain))
    heads, (difference, flipped, grid, other, effects) = found.senders, map(np.array, zip(*rows, strict=True))
    groups = np.arange(PAIRS) % len(TEMPLATES)
    right = accuracy_intervals((difference > 0)[:, None].astype(np.float64), groups)[0]
    yield Replication("accuracy", right.value, right.low, right.high, 0.5, right.low > 0.5)
    yield _mean("difference", difference, -float(flipped.mean()), groups=groups, above=0)
    limit, mean = float(np.abs(other.mean(0)).max()), grid.mean(0)
    ranked, strong = np.argsort(-mean), mean > limit
    writers = tuple(heads[place] for place in ranked[:3])
    yield _mean("writer", grid[:, mean.argmax()], limit, writers, groups=groups, above=limit)
    carried = np.array([each[:, strong].sum(1) for each in (grid, other)]) / difference.mean()
    yield _mean("share", carried[0], float(carried[1].mean()), tuple(
        heads[place] for place in ranked if strong[place])[:8], groups=groups, above=0)
    mover, second = np.argsort(effects.mean(0))[:2]
    yield _mean("mover", effects[:, mover], float(effects[:, second].mean()), (heads[mover],), groups=groups,
                holds=heads[mover] in writers)


def patched_and_written(asked: KnownCircuitsQuery, models: Models, report: Progress) -> Iterator[Replication]:
    """Compare the head that changes the answer most when patched with the head that writes most to it directly."""
    text, twin = (Query(asked.model, asked.revision, SENTENCE.format(word=word)) for word in TWINS)
    kind = models.trace(text, quiet).blocks[-1].kind
    kinds = [kind, Kind.CROSS] if Kind.CROSS in models.record(text, quiet).kinds else [kind]
    heads, effects, written = list[HeadId](), list[float](), list[float]()
    for each in kinds:
        found = PatchQuery(text, twin, each).answer(models, quiet)
        if found.words is None or found.place is None:
            return
        parts = WritesQuery(text, found.place, *found.words).answer(models, quiet)
        heads += found.heads
        effects += (found.patched - found.plain).tolist()
        written += (parts.cross if each is Kind.CROSS else parts.heads).ravel().tolist()
    (patched, second), (direct, other) = (np.argsort(np.negative(values), kind="stable").tolist()[:2]
                                          for values in (effects, written))
    same = patched == direct
    yield Replication("patched", effects[patched], chance=effects[second], holds=same, heads=(heads[patched],))
    yield Replication("written", written[direct], chance=written[other], holds=same, heads=(heads[direct],))


Replicate = Callable[[KnownCircuitsQuery, Models, Progress], Iterator[Replication]]
MODELS: dict[str, tuple[Replicate, ...]] = {
    "induction": (composition, paths_of_induction),
    "smollm2": (induction_effects, indirect_objects),
    "resolver-narrow": (patched_and_written,), "resolver-wide": (patched_and_written,),
    "translator": (patched_and_written,)}
