"""The texts over which importance is measured, as questions for a model: assets/cases/explain.csv, and the verbs of
assets/cases/agreement.csv."""
import csv
import functools
from dataclasses import dataclass

from model.core.assets import ASSETS
from model.core.query import Query
from model.studies.attribution import AttributionQuery
from model.studies.coreference.cases import occurrences, shipped_cases

FILE = ASSETS / "cases" / "explain.csv"
SETS = ("sentences", "agreement")   # of models that read any text; those trained here have a set of their own


@dataclass(frozen=True)
class Text:
    """A text of a set, with the word that is asked for."""

    text: str        # as a model reads it
    at: int | None   # where the word begins; None for what comes next
    word: str        # the target; empty for the word that stands there
    rival: str       # a word to compare with; empty for none
    other: str       # the sentence that a sentence vector is compared with
    group: str       # shared by texts that are alike


@functools.cache
def texts(which: str) -> tuple[Text, ...]:
    """The texts of a set: sentences, agreement, resolver, induction or stories."""
    if which == "agreement":
        return _agreement()
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == which]
    return tuple(Text(row["text"], occurrences(row["text"], row["word"])[-1][0] if row["word"] else None, "", "",
                      row["other"], row["group"])
                 for row in rows)


def _agreement() -> tuple[Text, ...]:
    """The verb against the same verb in the other number, as Linzen et al. 2016 and Abnar & Zuidema 2020 ask; the other
    sentence is the twin."""
    cases = shipped_cases("agreement")
    found = []
    for case in cases:
        twin = next(each for each in cases if each.pair == case.pair and each is not case)
        verb = next(start for start, _ in occurrences(case.sentence, case.answer) if start >= case.pronoun[1])
        found.append(Text(case.sentence, verb, case.answer, case.other, twin.sentence, case.frame))
    return tuple(found)


def questions(model: str, revision: str, kind: str, which: str) -> tuple[AttributionQuery, ...]:
    """The texts of a set, in their order, as questions for one that answers in this way (`Answer.kind`)."""
    found = []
    for text in texts(which):
        query = Query(model, revision, text.text)
        asked = {"vector": AttributionQuery(query, other=text.other), "target": AttributionQuery(query)}
        found.append(asked.get(kind, AttributionQuery(query, text.at, text.word, text.rival)))
    return tuple(found)
