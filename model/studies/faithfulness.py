"""The texts over which importance is measured, as questions for a model: assets/cases/explain.csv, and the verbs in
assets/cases/agreement.csv."""
import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.core.files import ASSETS
from model.core.models import Models
from model.core.query import HeadId, Progress, Query, quiet
from model.core.statistics import MeanInterval, mean_intervals, rank_correlations
from model.studies.attribution import (
    FEWEST,
    METHODS,
    NULLS,
    REMOVALS,
    Attribution,
    AttributionQuery,
    agreement,
    ceiling,
    rank_agreement,
)
from model.studies.coreference import occurrences, shipped_cases

FILE = ASSETS / "cases" / "explain.csv"
SETS = ("sentences", "agreement")   # for models that read any text; our own models have sets of their own


@dataclass(frozen=True)
class Text:
    """A text of a set, with the word to explain."""

    text: str        # as a model reads it
    at: int | None   # start of the word, None for the next word
    word: str        # the target; "" for the word in the text
    rival: str       # a word to compare with, or ""
    other: str       # the sentence to compare sentence vectors with
    group: str       # shared by similar texts


@functools.cache
def texts(which: str) -> tuple[Text, ...]:
    """Return the texts of a set: sentences, agreement, resolver, induction or stories."""
    if which == "agreement":
        return _agreement()
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == which]
    return tuple(Text(row["text"], occurrences(row["text"], row["word"])[-1][0] if row["word"] else None, "", "",
                      row["other"], row["group"])
                 for row in rows)


def _agreement() -> tuple[Text, ...]:
    """Return texts that compare the verb with its other number, as in Linzen et al. 2016 and Abnar & Zuidema 2020; the
    other sentence is the twin."""
    cases = shipped_cases("agreement")
    found = []
    for case in cases:
        twin = next(each for each in cases if each.pair == case.pair and each is not case)
        verb = next(start for start, _ in occurrences(case.sentence, case.answer) if start >= case.pronoun[1])
        found.append(Text(case.sentence, verb, case.answer, case.other, twin.sentence, case.frame))
    return tuple(found)


def questions(model: str, revision: str, kind: str, which: str) -> tuple[AttributionQuery, ...]:
    """Return the texts of a set, in order, as questions for a model that answers in this way (`Answer.kind`)."""
    found = []
    for text in texts(which):
        query = Query(model, revision, text.text)
        asked = {"vector": AttributionQuery(query, other=text.other), "target": AttributionQuery(query)}
        found.append(asked.get(kind, AttributionQuery(query, text.at, text.word, text.rival)))
    return tuple(found)


@dataclass(frozen=True)
class AttributionsQuery:
    """The questions of a whole set, for a model that answers in this way (`Answer.kind`)."""

    model: str
    revision: str
    kind: str
    which: str

    def answer(self, models: Models, report: Progress) -> tuple[Attribution, ...]:
        """Return the answers, in the order of the texts, their heads in float32, as a file is shipped. Raises UserError
        where one cannot be asked."""
        found, wanted = list[Attribution](), questions(self.model, self.revision, self.kind, self.which)
        for number, question in enumerate(wanted):
            report(number / len(wanted), question.query.text)
            one = question.answer(models, quiet)
            heads = {name: tuple(each.astype(np.float32) for each in layers) for name, layers in one.by_head.items()}
            found.append(replace(one, by_head=heads))
        return tuple(found)


COLUMNS = (*REMOVALS, "all")   # the last: the mean over the three definitions


@dataclass(frozen=True)
class Report:
    """The value of importance measures over a set of texts."""

    methods: dict[str, tuple[MeanInterval, ...]]   # {method: rank correlation for each of COLUMNS}
    ceiling: tuple[MeanInterval, ...]              # agreement of each definition with the two others, and of all
    best: MeanInterval                             # rank correlation of a head chosen on the other half of the texts
    chosen: tuple[HeadId, ...]                     # the two heads chosen
    texts: int                                     # number of texts
    words: float                                   # mean number of ranked words per text


def report(found: Sequence[Attribution], groups: Sequence[str], layer: int, head: int) -> Report:
    """Report over attributions of one model, for one open head. groups: of similar texts, for intervals and halves."""
    numbers = np.unique(list(groups), return_inverse=True)[1]
    each = [agreement(one, layer, head) for one in found]
    names = [name for name in _order() if any(name in one for one in each)]
    empty = np.full(len(REMOVALS), np.nan)
    methods = {name: _means(np.array([one.get(name, empty) for one in each]), numbers) for name in names}
    scores, chosen = held_out(found, numbers)
    best = mean_intervals(scores[:, None], numbers)[0]
    return Report(methods, _means(np.array([ceiling(one) for one in found]), numbers), best, chosen, len(found),
                  float(np.mean([one.ranked.sum() for one in found])))


def _order() -> list[str]:
    """Return the methods, each followed by its uniform baseline."""
    return [name for method in METHODS for name in (method, f"{method}_even") if name in (*METHODS, *NULLS)]


def _means(values: np.ndarray, groups: np.ndarray) -> tuple[MeanInterval, ...]:
    """Return the mean of each definition over texts, and of all three where available, from values (text,
    definition)."""
    return tuple(mean_intervals(np.concatenate([values, values.mean(1, keepdims=True)], 1), groups))


def by_head(found: Attribution) -> np.ndarray:
    """Return the rank correlation of every head's row with the measured effect, averaged over the three definitions,
    float64 (head), layer by layer."""
    chosen = found.ranked
    if chosen.sum() < FEWEST:
        return np.full(sum(map(len, found.by_head["weight"])), np.nan)
    rows = np.concatenate([each[:, chosen] for each in found.by_head["weight"]])
    effects = np.stack([np.abs(found.removed[name][chosen]) for name in REMOVALS])
    return rank_correlations(rows, effects).mean(1)


def held_out(found: Sequence[Attribution], groups: np.ndarray) -> tuple[np.ndarray, tuple[HeadId, ...]]:
    """Return each text's rank correlation with the head that is best on the other half, float64 (text), and the two
    heads: chosen on even groups and scored on odd ones, and vice versa. groups: int (text)."""
    from pandas import DataFrame

    values = np.array([by_head(one) for one in found])
    heads = [(layer, head) for layer, rows in zip(found[0].layers, found[0].by_head["weight"], strict=True)
             for head in range(len(rows))]
    scores, chosen = np.full(len(found), np.nan), []
    for half in (0, 1):
        best = int(DataFrame(values[groups % 2 == half]).mean().fillna(-2).argmax())   # -2 is below every correlation
        chosen.append(heads[best])
        scores[groups % 2 != half] = values[groups % 2 != half, best]
    return scores, tuple(chosen)


def by_layer(found: Sequence[Attribution], measure: str) -> list[float]:
    """Return the mean rank correlation of a measure in `by_layer` for each layer, over texts and definitions, as in
    Abnar & Zuidema 2020."""
    result = []
    for place in range(len(found[0].layers)):
        values = []
        for one in found:
            chosen, scores = one.ranked, one.by_layer.get(measure, ())
            if scores and len(scores[place]):
                values += [rank_agreement(scores[place][chosen], np.abs(one.removed[name][chosen]))
                           for name in REMOVALS]
        values = [value for value in values if np.isfinite(value)]
        result.append(float(np.mean(values)) if values else float("nan"))
    return result
