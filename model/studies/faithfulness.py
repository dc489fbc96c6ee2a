"""Evaluate attribution methods over sets of texts, from explain.csv and agreement.csv in assets/cases."""
import csv
import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from clearhead.model.core.files import ASSETS
from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import HeadId, Progress, Query, counted, frozen, quiet
from clearhead.model.core.statistics import MeanInterval, mean_intervals, on_other_half
from clearhead.model.studies.attribution import (
    METHODS,
    REMOVALS,
    Attribution,
    AttributionQuery,
    agreement,
    ceiling,
    rank_agreement,
)
from clearhead.model.studies.coreference import Case, occurrences, shipped_cases, twin_of

FILE = ASSETS / "cases" / "explain.csv"
SETS = ("sentences", "agreement")   # for models that read any text; our own models have their own sets


@frozen
class ExplainedText:
    """A text with the word to explain."""

    text: str        # the text that a model reads
    at: int | None   # start of the word in characters; None for the next word
    word: str        # the word to explain; "" for the word in the text
    rival: str       # a word to compare with, or ""
    other: str       # the sentence whose vector is compared
    group: str       # an identifier shared by similar texts


@functools.cache
def texts(which: str) -> tuple[ExplainedText, ...]:
    """Return the texts of a set: "sentences", "agreement", "resolver", "induction" or "stories"."""
    if which == "agreement":
        return _agreement()
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == which]
    return tuple(ExplainedText(row["text"], occurrences(row["text"], row["word"])[-1][0] if row["word"] else None,
                               "", "", row["other"], row["group"])
                 for row in rows)


def _agreement() -> tuple[ExplainedText, ...]:
    """Return texts that compare the verb with its form of the other grammatical number, as in Linzen et al. 2016 and
    Abnar & Zuidema 2020. Sentence vectors are compared with the twin's."""
    found = []
    for case in shipped_cases("agreement"):
        verb = next(start for start, _ in occurrences(case.sentence, case.answer) if start >= case.pronoun[1])
        found.append(ExplainedText(case.sentence, verb, case.answer, case.other, cast(Case, twin_of(case)).sentence,
                                   case.frame))
    return tuple(found)


def questions(model: str, revision: str, kind: str, which: str) -> tuple[AttributionQuery, ...]:
    """Return the texts of a set as questions for a model. kind: how the model answers, see `Answer.kind`."""
    asked = [(Query(model, revision, text.text), text) for text in texts(which)]
    if kind in ("vector", "target"):
        return tuple(AttributionQuery(query, other=text.other * (kind == "vector")) for query, text in asked)
    return tuple(AttributionQuery(query, text.at, text.word, text.rival) for query, text in asked)


@frozen
class AttributionsQuery(ModelQuestion):
    """The attributions of one model for all texts of a set. kind: how the model answers, see `Answer.kind`."""

    kind: str
    which: str

    def answer(self, models: Models, report: Progress) -> tuple[Attribution, ...]:
        """Compute the attributions in the order of the texts. Values per head are float32, to keep shipped files small.
        Raises UserError if a text cannot be explained."""
        found, wanted = list[Attribution](), questions(self.model, self.revision, self.kind, self.which)
        for _, question in counted(wanted, report, "text"):
            one = question.answer(models, quiet)
            heads = {name: tuple(each.astype(np.float32) for each in layers) for name, layers in one.by_head.items()}
            found.append(replace(one, by_head=heads))
        return tuple(found)


COLUMNS = (*REMOVALS, "all")   # "all" is the mean over the three ways to remove a token


@frozen
class FaithfulnessReport:
    """How well attribution methods agree with the effects of removing tokens, over a set of texts."""

    methods: dict[str, tuple[MeanInterval, ...]]   # {method: rank correlation for each of COLUMNS}
    ceiling: tuple[MeanInterval, ...]              # agreement of each removal with the two others, and their mean
    best: MeanInterval                             # rank correlation of a head chosen on the other half of the texts
    chosen: tuple[HeadId, ...]                     # the two chosen heads
    texts: int                                     # number of texts
    words: float                                   # mean number of ranked tokens per text


def report(found: Sequence[Attribution], groups: Sequence[str], layer: int, head: int) -> FaithfulnessReport:
    """Summarise the attributions of one model, for one selected head. groups: a label shared by similar texts, used for
    intervals and halves."""
    numbers = np.unique(list(groups), return_inverse=True)[1]
    each = [agreement(one, layer, head) for one in found]
    empty = np.full(len(REMOVALS), np.nan)
    methods = {name: _means(np.array([one.get(name, empty) for one in each]), numbers)
               for method in METHODS for name in (method, f"{method}_even") if any(name in one for one in each)}
    scores, chosen = held_out(found, numbers)
    best = mean_intervals(scores[:, None], numbers)[0]
    return FaithfulnessReport(methods, _means(np.array([ceiling(one) for one in found]), numbers), best, chosen,
                              len(found), float(np.mean([one.ranked.sum() for one in found])))


def _means(values: np.ndarray, groups: np.ndarray) -> tuple[MeanInterval, ...]:
    """Return the mean over texts for each way to remove a token, and for their average. values: (text, removal)."""
    return tuple(mean_intervals(np.concatenate([values, values.mean(1, keepdims=True)], 1), groups))


def by_head(found: Attribution) -> np.ndarray:
    """Return the rank correlation of every head's weights with the effects of removal, averaged over REMOVALS, float64
    (head), in model order."""
    rows = np.concatenate([each[:, found.ranked] for each in found.by_head["weight"]])
    return rank_agreement(rows, found.effects).mean(1)


def held_out(found: Sequence[Attribution], groups: np.ndarray) -> tuple[np.ndarray, tuple[HeadId, ...]]:
    """Choose the best head on even groups and score it on odd ones, and vice versa. Return each text's rank
    correlation, float64 (text), and the two heads. groups: int (text)."""
    from pandas import DataFrame

    values = np.array([by_head(one) for one in found])
    heads = [(layer, head) for layer, rows in zip(found[0].layers, found[0].by_head["weight"], strict=True)
             for head in range(len(rows))]
    scores, chosen = on_other_half(values, groups % 2 == 0, lambda part: int(
        DataFrame(values[part]).mean().fillna(-2).argmax()))   # -2 is below every correlation
    return scores, tuple(heads[column] for column in chosen)


def by_layer(found: Sequence[Attribution], measure: str) -> list[float]:
    """Return the mean rank correlation of a measure for each layer, over texts and REMOVALS, as in Abnar & Zuidema
    2020. measure: a key of `Attribution.by_layer`."""
    from pandas import DataFrame

    measured = [one for one in found if one.by_layer.get(measure, ())]
    values = [rank_agreement([layer[one.ranked] if len(layer) else np.full(one.ranked.sum(), np.nan)
                              for layer in one.by_layer[measure]], one.effects) for one in measured]
    return DataFrame(np.concatenate(values, 1).T).mean().tolist() if values else [math.nan] * len(found[0].layers)
