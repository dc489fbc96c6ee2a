"""Measure each claim on one model."""
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from clearhead.model.core import heads, pictures
from clearhead.model.core.files import ASSETS
from clearhead.model.core.heads import head_ids
from clearhead.model.core.models import Models, NamesModel, OpenModel
from clearhead.model.core.query import HeadId, Progress, Query, UserError, Window, counted, quiet
from clearhead.model.core.record import AttentionMap, Layer
from clearhead.model.core.statistics import (
    LEVEL,
    SEED,
    UNMEASURED,
    MeanInterval,
    accuracy_intervals,
    mean_intervals,
    on_other_half,
    ratio_interval,
)
from clearhead.model.core.traces import Trace
from clearhead.model.studies import faithfulness
from clearhead.model.studies.attribution import ceiling
from clearhead.model.studies.claims.claim import (
    LOWEST,
    LUCKY_DRAWS,
    MASSIVE,
    MOST,
    PASSAGE,
    REPEATS,
    SINKS,
    TIMES,
    WIDTH,
    ClaimExample,
    ClaimMeasure,
    Finding,
    Measurement,
    finding,
)
from clearhead.model.studies.coreference import CasesQuery, map_of, shipped_cases, words_of
from clearhead.model.studies.coreference import report as set_report
from clearhead.model.studies.faithfulness import held_out as faithfulness_held_out
from clearhead.model.studies.faithfulness import questions, texts
from clearhead.model.studies.induction import (
    FORMED,
    LENGTH,
    SMOOTH,
    Film,
    emergence_interval,
    read_film,
    repeated,
    scores,
)
from clearhead.model.studies.predictions import LikelihoodQuery
from clearhead.model.studies.rollout import STAGES, Sublayer, contributions, sublayer, transformed_values
from clearhead.model.studies.syntax import Sentence, SyntaxQuery, shipped_treebank


def sentences() -> tuple[str, ...]:
    """Return the sixty sentences of everyday English in assets/cases/explain.csv, each on a different subject."""
    return tuple(text.text for text in faithfulness.texts("sentences"))


def passages() -> tuple[str, ...]:
    """Return passages of about a hundred tokens: PASSAGE joined sentences each, from `sentences` and their
    paraphrases."""
    both = [part for text in faithfulness.texts("sentences") for part in (text.text, text.other)]
    return tuple(" ".join(both[start:start + PASSAGE]) for start in range(0, len(both), PASSAGE))


def maps(asked: NamesModel, opened: OpenModel, report: Progress) -> Iterator[tuple[Query, AttentionMap]]:
    """Yield every sentence's query and self-attention. `report` may raise an exception to stop."""
    for _, text in counted(sentences(), report, "sentence"):
        query = Query(asked.model, asked.revision, text)
        yield query, map_of(opened.record(query, quiet))


def measurement(asked: NamesModel, *findings: Finding, kind: str = "", head: HeadId | None = None,
                colour: str = "") -> Measurement:
    """Return these findings with the first sentence on the page Heads as their example."""
    settings = (("colour", colour),) if colour else ()
    return Measurement(findings, ClaimExample("heads", asked.model, sentences()[0], kind, head, settings=settings))


def best_head_finding(name: str, values: np.ndarray, baseline: float, lucky: np.ndarray, ids: tuple[HeadId, ...],
                      counted: str = "texts") -> Finding:
    """Build a finding for the best head, chosen on the odd texts and evaluated on the even ones, and vice versa.
    values: (text, head). lucky: means of random heads, float64 (draw, head)."""
    scored, chosen = on_other_half(values, np.arange(len(values)) % 2 == 0)
    found = mean_finding(name, scored, baseline, "share", counted)
    return replace(found, best=float(values.mean(0).max()), luck=float(np.quantile(lucky.max(1), LEVEL)),
                   heads=tuple(ids[number] for number in chosen))


def shuffled(attention_map: AttentionMap, rows: np.ndarray, number: int) -> np.ndarray:
    """Return each head's mean weight in these rows on a randomly drawn allowed key, float64 (LUCKY_DRAWS, head). The
    key is at the same share of every row's allowed keys: one draw per text, because its rows depend on each other.
    number: the text's index, used as a seed."""
    rng, means = np.random.default_rng([SEED, number]), []
    for layer in attention_map.layers:
        weights = heads.whole(layer)
        allowed = heads.allowed_cells(layer.allowed, slice(0, layer.shape[1]), slice(0, layer.shape[2]))[rows]
        order = np.argsort(~allowed, axis=1, kind="stable")   # the allowed keys of each row first
        places = (rng.random((LUCKY_DRAWS, 1)) * allowed.sum(1)).astype(int)
        keys = order[np.arange(len(rows)), places]
        means.append(weights[:, rows, keys].mean(-1).T)
    return np.concatenate(means, axis=1).astype(np.float64)


def mean_finding(name: str, values: Sequence[float] | np.ndarray, baseline: float, unit: str,
                 counted: str = "texts") -> Finding:
    """Build a finding of the mean over texts."""
    return finding(name, mean_intervals(np.asarray(values)[:, None])[0], baseline, counted, unit)


def by_depth(measure: str, unit: str, way: int = 1) -> ClaimMeasure:
    """Return a test of whether a measure increases with depth, or decreases (way −1): its mean over heads in the upper
    half of the layers minus the mean in the lower half. The middle one of an odd number of layers is left out."""
    def measured(asked: NamesModel, models: Models, report: Progress) -> Measurement:
        changes = []
        for _, attention_map in maps(asked, models.open(asked, report), report):
            lower, upper = halves(attention_map)
            values = heads.measure(attention_map).values[measure]
            changes.append(way * (values[upper].mean() - values[lower].mean()))
        return measurement(asked, mean_finding(measure, changes, 0.0, unit), kind=attention_map.kind, colour=measure)

    return measured


def halves(attention_map: AttentionMap) -> tuple[np.ndarray, np.ndarray]:
    """Return which heads are in the lower and in the upper half of the layers, two arrays of bool (head)."""
    place = np.concatenate([np.full(layer.heads, number) for number, layer in enumerate(attention_map.layers)])
    half = len(attention_map.layers) // 2
    return place < half, place >= len(attention_map.layers) - half


def neighbour(measure: str, offset: int) -> ClaimMeasure:
    """Return a test of whether some head attends mostly to the previous or next token: the mean weight, for the head
    that is best on the other half of the sentences, over tokens that have such a neighbour."""
    def measured(asked: NamesModel, models: Models, report: Progress) -> Measurement:
        shares, lucky = [], []
        for number, (_, attention_map) in enumerate(maps(asked, models.open(asked, report), report)):
            count = len(attention_map.queries)
            shares.append(heads.measure(attention_map).values[measure])
            lucky.append(shuffled(attention_map, np.arange(max(0, -offset), count - max(0, offset)), number))
        found = best_head_finding(measure, np.array(shares), MOST, np.mean(lucky, axis=0), head_ids(attention_map))
        return measurement(asked, found, kind=attention_map.kind, head=found.heads[0])

    return measured


def pronoun(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure how often the pronoun attends more to the correct noun, for heads chosen on other frames, as on the page
    Coreference."""
    question = CasesQuery(asked.model, asked.revision, shipped_cases("coreference"))
    whole = set_report(question.answer(models, report))
    judged = whole.held_out.accuracy if whole.held_out is not None else UNMEASURED
    baseline = max(whole.baselines[name] for name in ("chance", "nearest", "first"))
    found = replace(finding("pronoun", judged, baseline, "frames", "share"), best=whole.luck.best,
                    luck=whole.luck.high, heads=tuple((head.layer, head.head) for head in whole.chosen))
    case = question.cases[0]
    record = models.open(asked, report).record(Query(asked.model, asked.revision, case.sentence), report)
    words = words_of(map_of(record).queries, case)
    picture = ClaimExample("heads", asked.model, case.sentence, whole.best.kind, (whole.best.layer, whole.best.head),
                           (words.pronoun[0], words.correct[0]))
    return Measurement((found,), picture)


@functools.cache
def trees() -> tuple[Sentence, ...]:
    """Return the annotated English sentences used for these claims."""
    return shipped_treebank("en")


def relation(name: str) -> ClaimMeasure:
    """Return a test of one relation of Universal Dependencies."""
    def measure(asked: NamesModel, models: Models, report: Progress) -> Measurement:
        score = SyntaxQuery(asked.model, asked.revision, trees()).answer(models, report).named(name)
        with_it = next(each for each in trees() if any(word.relation == name for word in each.words))
        heads = tuple((choice.layer, choice.head) for choice in score.chosen)
        baseline = math.nan if score.offset is None else score.offset
        found = finding(name, score.held_out or UNMEASURED, baseline, "sentences", "share")
        found = replace(found, best=score.accuracy, luck=score.luck.high, heads=heads)
        return Measurement((found,), ClaimExample("heads", asked.model, with_it.text,
                                                  head=(score.best.layer, score.best.head)))

    return measure


def mixing(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure by how much the mixing ratio computed from the weights alone exceeds the one that includes the residual
    stream and layer norm."""
    opened, falls = models.open(asked, report), []
    for query, attention_map in maps(asked, opened, report):
        falls.append(np.subtract(*mixing_ratios(attention_map, opened.trace(query, quiet).plain())))
    found = mean_finding("mixing", falls, 0.0, "share")
    return Measurement((found,), ClaimExample("faithfulness", asked.model, sentences()[0]))


def mixing_ratios(attention_map: AttentionMap, trace: Trace) -> np.ndarray:
    """Return the mean mixing ratio over layers and tokens, float64 (2): from the weights alone, and including the
    residual stream and norm. The second is NaN if a layer has no such norm."""
    weights_alone, with_norm = [], []
    for layer in attention_map.layers:
        weights = heads.whole(layer)
        attention = trace.attention(attention_map.kind, layer.index)
        around = sublayer(trace.block(attention_map.kind, layer.index), attention)
        values = transformed_values(layer, attention) if isinstance(layer, Layer) else np.zeros(0)
        weights_alone.append(1 - np.diagonal(weights, axis1=1, axis2=2).mean())
        with_norm += [_ratio(weights, values, around, token) for token in range(weights.shape[1])]
    return np.array([np.mean(weights_alone), np.mean(with_norm)])


def _ratio(weights: np.ndarray, values: np.ndarray, around: Sublayer, token: int) -> float:
    """Compute the mixing ratio ‖others‖ / (‖others‖ + ‖own‖) of a token, where `others` is the summed contribution of
    all other tokens (Kobayashi et al. 2021, section 3)."""
    parts = around.parts(contributions(weights, values, token), token).get(STAGES[-1])
    if parts is None:
        return float("nan")
    own = float(np.linalg.norm(parts[token]))
    others = float(np.linalg.norm(parts.sum(0) - parts[token]))
    return others / (others + own)


ANSWER, SET = "vector", "sentences"   # explains sentence vectors, for the shipped sentences


def not_explanation(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure by how much the best head's rank correlation with the effects of removing tokens falls short of the
    correlation between different ways of removing them. The head is chosen on the other half of the texts."""
    wanted = questions(asked.model, asked.revision, ANSWER, SET)
    found = [replace(question, without_flow=True).answer(models, quiet)
             for _, question in counted(wanted, report, "sentence")]
    groups = np.unique([text.group for text in texts(SET)], return_inverse=True)[1]
    scores, chosen = faithfulness_held_out(found, groups)
    short = np.array([ceiling(one).mean() for one in found]) - scores
    judged = finding("explanation", mean_intervals(short[:, None], groups)[0], 0.0, "texts", "rho")
    first = wanted[0].query
    return Measurement((judged,), ClaimExample("faithfulness", asked.model, first.text, str(found[0].kind), chosen[0],
                                               settings=(("run", True),)))


SEEN = "The red fox met the grey wolf by the river. Later the red fox met the grey wolf by the river."
FILM = ASSETS / "weights" / "induction-film.safetensors"


def induction_heads(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure, on repeated random tokens, whether some head attends mostly from a token's second occurrence to the
    token that followed its first."""
    opened, values, lucky = models.open(asked, report), [], []
    for seed, _ in counted(range(REPEATS), report, "random tokens"):
        attention_map = repeated(opened, seed)
        found = scores(attention_map, LENGTH)
        values.append(found.prefix)
        count = len(attention_map.queries)
        lucky.append(shuffled(attention_map, np.arange(count - LENGTH, count - 1), seed))
    best = best_head_finding("induction", np.array(values), MOST, np.mean(lucky, axis=0), found.heads, "draws")
    return Measurement((best,), ClaimExample("heads", asked.model, SEEN, head=best.heads[0]))


def induction_loss(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure whether an induction head forms during the shipped training run, over draws of random tokens, half of
    which choose the head, and what share of the decrease in loss occurs between the two snapshots around its formation.
    The independent unit of that share is the training run, of which there is one."""
    film, prefix = read_film(FILM), []
    for _, step in counted(film.frames, report, "snapshot"):
        opened = models.open(Query(f"{asked.model}@{step}", asked.revision, SEEN), quiet)
        found = [scores(repeated(opened, seed), LENGTH) for seed in range(REPEATS)]
        prefix.append([each.prefix for each in found])
    scored = np.array(prefix)   # (snapshot, draw, head)
    chosen = int(scored[-1, ::2].mean(0).argmax())
    formed = mean_finding("induction_formed", scored[-1, 1::2, chosen], FORMED, "share", "draws")
    judged = replace(formed, heads=(found[0].heads[chosen],)), together(film, scored[:, 1::2, chosen])
    return Measurement(judged, ClaimExample("training", settings=(("film", "induction"),)))


def together(film: Film, prefix: np.ndarray) -> Finding:
    """Compare the share of the decrease in loss between the two snapshots around a head's formation with their share of
    the steps, and with windows of that length anywhere in training. prefix: (snapshot, draw)."""
    every = [emergence_interval(film.frames, column) for column in prefix.T]
    windows = [window for window in every if window is not None]
    if not windows:
        return Finding("induction_loss", math.nan, math.nan, math.nan, math.nan, 1, "runs", "share")
    share = float(np.mean([fall(film, start, end) for start, end in windows]))
    length = float(np.mean([end - start for start, end in windows]))
    anywhere = [fall(film, start, start + round(length)) for start in film.step.tolist()
                if start + round(length) <= film.step[-1]]
    return Finding("induction_loss", share, math.nan, math.nan, length / film.frames[-1], 1, "runs", "share", share,
                   float(np.quantile(anywhere, LEVEL)))


def fall(film: Film, start: int, end: int) -> float:
    """Return the share of the total decrease in smoothed loss that occurs between two steps; negative if the loss
    rises."""
    smooth = film.smooth
    before, after = np.interp([start, end], film.step[SMOOTH // 2:SMOOTH // 2 + len(smooth)], smooth)
    return float((before - after) / (smooth[0] - smooth[-1]))


def massive(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure in what share of texts some hidden state has a massive activation, and in what share the token with the
    largest activation receives the most attention. The second baseline is a random token."""
    opened, there, at_sink, chance = models.open(asked, report), [], [], []
    for query, attention_map in maps(asked, opened, report):
        token, is_massive = largest(opened.trace(query, quiet), attention_map)
        there.append(float(is_massive))
        at_sink.append(float(token == int(received(attention_map).argmax())))
        chance.append(1 / len(attention_map.queries))
    exists, sits = accuracy_intervals(np.array([there, at_sink]).T, np.arange(len(there)))
    return measurement(asked, finding("massive", exists, MOST, "texts", "share"),
                       finding("massive_sink", sits, float(np.mean(chance)), "texts", "share"), colour="first")


def largest(trace: Trace, attention_map: AttentionMap) -> tuple[int, bool]:
    """Return the token with the largest activation in any hidden state between blocks, and whether any hidden state has
    a massive activation: above MASSIVE, and above TIMES its median magnitude."""
    sizes = np.array([np.abs(block.after) for block in trace.blocks if block.kind is attention_map.kind])
    massive_here = any(size.max() > max(MASSIVE, TIMES * np.median(size)) for size in sizes)
    return int(np.unravel_index(sizes.argmax(), sizes.shape)[1]), massive_here


def first_token(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure the weight on the first token above the lowest layers, averaged over heads and later tokens, and compare
    it with one half."""
    shares = [first_share(attention_map)[LOWEST:].mean()
              for _, attention_map in maps(asked, models.open(asked, report), report)]
    return measurement(asked, mean_finding("first", shares, MOST, "share"), colour="first")


def first_share(attention_map: AttentionMap) -> np.ndarray:
    """Return the mean weight on the first token in the rows of all other tokens, float64 (layer)."""
    return np.array([heads.whole(layer)[:, 1:, 0].mean(dtype=np.float64) for layer in attention_map.layers])


def received(attention_map: AttentionMap) -> np.ndarray:
    """Return the mean weight that each token receives from all heads and all queries that may attend to it, float64
    (token)."""
    total, looked = np.zeros((2, len(attention_map.keys)))
    for layer in attention_map.layers:
        weights = heads.whole(layer)
        total += weights.sum((0, 1), dtype=np.float64)
        allowed = layer.allowed.block(slice(0, layer.shape[1]), slice(0, layer.shape[2]))
        looked += np.broadcast_to(allowed, weights.shape).sum((0, 1))
    return total / np.maximum(looked, 1)


def window(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure how much a sliding window raises the loss, and how much of this a window of the same size that keeps the
    first tokens recovers. The loss is in nats per token, from token WIDTH + SINKS on."""
    losses, texts, windows = [], passages(), ((), (Window(WIDTH + SINKS),), (Window(WIDTH, SINKS),))
    for _, (text, edits) in counted([*itertools.product(texts, windows)], report, "windowed passage"):
        query = Query(asked.model, asked.revision, text, edits=frozenset[Window](edits))
        losses.append(-LikelihoodQuery(query).answer(models, quiet).log_probabilities[WIDTH + SINKS:].mean())
    whole, without, with_sinks = np.reshape(losses, (-1, len(windows))).T
    cost = mean_finding("window_cost", without - whole, 0.0, "nats", "passages")
    sinks = mean_finding("window_sinks", without - with_sinks, 0.0, "nats", "passages")
    back = restored(whole, without, with_sinks)
    settings = (("versus", "edit"), ("edit", "window"), ("width", WIDTH), ("first", SINKS))
    return Measurement((cost, sinks, finding("window_restored", back, MOST, "passages", "share")),
                       ClaimExample("compare", asked.model, texts[0], settings=settings))


def restored(whole: np.ndarray, without: np.ndarray, with_sinks: np.ndarray) -> MeanInterval:
    """Return the share of the window's cost that the sinks recover, a ratio of means with a bootstrap interval. Each
    argument contains the losses (passage)."""
    back, cost = without - with_sinks, without - whole
    with np.errstate(invalid="ignore", divide="ignore"):   # undefined if the window costs nothing
        value = float(np.divide(back.sum(), cost.sum()))
    return MeanInterval(value, *ratio_interval(back, cost), len(whole), len(whole))


FIGURES = ASSETS / "cases" / "figures"   # made by python -m tools.drawn_figures
DRAWN = ("fish", "house", "mug", "tree", "star", "boat", "mushroom", "balloon", "umbrella", "car", "apple", "lamp")
SIDE, MARGIN = 224, 16   # pixels: DINOv2 crops a 256-pixel picture to the inner 224 pixels, without resizing
ROUNDING = 2   # largest difference between equal pixels, in steps of 255


def with_figures() -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
    """Yield (sha256, figure, expected model input) of every picture, photographs first. figure: which pixels of the
    square that the model reads belong to it, bool (SIDE, SIDE). The expected input, uint8 (SIDE, SIDE, 3), of
    photographs is None. Drawings are stored in this process so that models can read them."""
    for picture in pictures.shipped():
        if (FIGURES / f"{picture.key}-figure.png").exists():
            yield picture.sha256, _figure(picture.key), None
    for name in DRAWN:
        kept = pictures.keep((FIGURES / f"{name}.png").read_bytes(), name)
        yield kept.sha256, _figure(name), kept.pixels()[MARGIN:-MARGIN, MARGIN:-MARGIN]


def _figure(name: str) -> np.ndarray:
    return np.asarray(pictures.decode((FIGURES / f"{name}-figure.png").read_bytes(), name))[..., 0] > 0


def at_centres(figure: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """Return which patches have their centre inside a figure, bool (row, column). figure: bool (SIDE, SIDE)."""
    return figure[np.ix_(*(((np.arange(count) + 0.5) * SIDE / count).astype(int) for count in grid))]


def _equal(picture: np.ndarray | None, expected: np.ndarray) -> bool:
    """Return whether two pictures are equal up to rounding errors of normalisation."""
    return (picture is not None and picture.shape == expected.shape
            and bool((np.abs(picture.astype(int) - expected) <= ROUNDING).all()))


def figure_and_ground(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Measure by how much [CLS]'s attention to the figure exceeds the figure's share of the area for the best head, and
    likewise for the background. Each head is chosen on the other half of the pictures. The null distribution shifts the
    outlines randomly. Raises UserError if the model reads another part of a picture than the outlines assume."""
    opened, looks, masks = models.open(asked, report), [], []
    known = list(with_figures())
    for _, (sha256, figure, expected) in counted(known, report, "picture"):
        record = opened.record(Query(asked.model, asked.revision, "", image=sha256), quiet)
        attention_map = record.maps[0]
        grid = attention_map.keys.grid
        if grid is None or (expected is not None and not _equal(record.picture, expected)):
            raise UserError("This model reads another part of a picture than the outlines of the figures assume; "
                            "choose DINOv2.")
        looks.append(patch_shares(attention_map))
        masks.append(at_centres(figure, grid))
    ids, lucky, values = head_ids(attention_map), moved(looks, masks), beyond(looks, masks)
    found = (best_head_finding("figure", values, 0.0, lucky, ids, "pictures"),
             best_head_finding("ground", -values, 0.0, -lucky, ids, "pictures"))
    return Measurement(found, ClaimExample("heads", asked.model, head=found[0].heads[0], image=known[0][0]))


def patch_shares(attention_map: AttentionMap) -> np.ndarray:
    """Return the first token's attention to patches, rescaled to sum to 1, float64 (head, row, column)."""
    patches, grid = list(attention_map.keys.patches), attention_map.keys.grid
    rows = np.concatenate([heads.row_weights(layer, 0)[:, patches] for layer in attention_map.layers], dtype=np.float64)
    return (rows / rows.sum(-1, keepdims=True)).reshape(len(rows), *(grid or ()))


def moved(looks: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    """Return each head's attention to randomly shifted outlines minus their area, averaged over pictures, float64
    (draw, head)."""
    rng = np.random.default_rng(SEED)
    return np.array([beyond(looks, [np.roll(mask, rng.integers(0, mask.shape), axis=(0, 1)) for mask in masks]).mean(0)
                     for _ in range(LUCKY_DRAWS)])


def beyond(looks: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    """Return each head's attention to outlines minus their area, float64 (picture, head)."""
    return np.array([look[:, mask].sum(-1) - mask.mean() for look, mask in zip(looks, masks, strict=True)])
