"""What the model itself would answer to a case, so that silencing a head has an answer to change.

Three ways, by what the model can say. A next-word model reads the sentence with each candidate in the pronoun's place,
and the words after it become more or less probable (Trinh and Le 2018, their partial score). A masked-word model is
asked for each candidate at masks in the pronoun's place (Kocijan et al. 2019). Our own resolvers name a noun at the
pronoun. Where a case brings its own two words (agreement), those are compared instead, at the place where the right one
stands. """
import math
from dataclasses import dataclass

import numpy as np

from model.core.models import Models, OpenModel
from model.core.query import Edit, Query, UserError
from model.core.types import Progress, Span, quiet
from model.studies.coreference.cases import Case
from model.studies.coreference.heads import map_of, words_of

POSSESSIVE = ("his", "its", "their")
DETERMINERS = ("the", "a", "an", "this", "that", "my", "your", "his", "her", "its", "our", "their")


@dataclass(frozen=True)
class AnswersQuery:
    """What the model itself would answer, with its edits."""

    model: str
    revision: str
    cases: tuple[Case, ...]
    edits: frozenset[Edit] = frozenset()

    def answer(self, models: Models, report: Progress) -> "Answers":
        """What it says to each case. Raises UserError for a model that has no answer to compare."""
        return run(self, models.open(self, report), report)


@dataclass(frozen=True, eq=False)
class Answers:
    """ln P of the right and of the wrong candidate, float64 (case, 2), mean over the words that are compared, in nats.

    way: next, mask or label, as the module's text says.
    """

    way: str
    scores: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the scores."""
        return self.scores.nbytes

    @property
    def share(self) -> np.ndarray:
        """The right candidate's probability if it were one of the two, float64 (case)."""
        return 1 / (1 + np.exp(np.clip(self.scores[:, 1] - self.scores[:, 0], -700, 700)))


def run(question: AnswersQuery, model: OpenModel, report: Progress) -> Answers:
    """Every case put to an open model. Raises UserError for a model that has no answer to compare."""
    scores = []
    for number, case in enumerate(question.cases):
        report(number / len(question.cases), f"answer {number + 1} of {len(question.cases)}")
        scores.append((_labels if _way(model) == "label" else _likelihoods)(question, model, case))
    return Answers(_way(model), np.array(scores))


def _way(model: OpenModel) -> str:
    return getattr(model, "head", "label")


def _likelihoods(question: AnswersQuery, model: OpenModel, case: Case) -> tuple[float, float]:
    right, wrong = (model.log_probability(Query(question.model, question.revision, text, edits=question.edits), span)
                    for text, span in scored_texts(case, _way(model)))
    return right, wrong


def scored_texts(case: Case, way: str) -> list[tuple[str, Span]]:
    """The two texts to compare and which characters of each are scored: for the right candidate, and for the wrong
    one."""
    if case.answer:
        return [_said(case, word) for word in (case.answer, case.other)]
    found = []
    for name in ("correct", "wrong"):
        words = substitute(case, name)
        start, end = case.pronoun
        text = case.sentence[:start] + words + case.sentence[end:]
        noun = start + words.lower().index(case.word(name).lower())
        after = start + len(words), len(text)
        found.append((text, (noun, noun + len(case.word(name)))
                      if way == "mask" or not text[slice(*after)].strip(" .!?") else after))
    return found


def _said(case: Case, word: str) -> tuple[str, Span]:
    """The sentence with `word` behind the pronoun's place, where the right answer stands."""
    start = case.sentence.find(case.answer, case.pronoun[1])
    if start < 0:
        raise UserError(f"The answer {case.answer!r} is not behind {case.word('pronoun')!r} in {case.sentence[:60]!r}; "
                        f"write it as it is there.")
    return case.sentence[:start] + word + case.sentence[start + len(case.answer):], (start, start + len(word))


def substitute(case: Case, name: str) -> str:
    """The candidate as it would stand in the pronoun's place: with "the" if it has an article or its like, in the
    genitive for his, its, their."""
    pronoun, start = case.word("pronoun"), getattr(case, name)[0]
    before = case.sentence[:start].split()
    words = ("the " if before and before[-1].lower() in DETERMINERS else "") + case.word(name)
    words += "'s" if pronoun.lower() in POSSESSIVE else ""
    return words[0].upper() + words[1:] if pronoun[:1].isupper() else words


def _labels(question: AnswersQuery, model: OpenModel, case: Case) -> tuple[float, float]:
    """ln P of both nouns at the pronoun; one that is not among the twenty best counts as the last of them."""
    record = model.record(Query(question.model, question.revision, case.sentence, edits=question.edits), quiet)
    prediction, place = record.prediction, words_of(map_of(record).queries, case).pronoun[0]
    if prediction is None or prediction.kind != "label" or place not in prediction.positions:
        raise UserError(f"{record.card.title} names no noun at {case.word('pronoun')!r}; choose a model that does, or "
                        f"a next-word model.")
    row = prediction.positions.index(place)
    said = dict(zip((text.lower().strip() for text in prediction.texts[row]), prediction.probabilities[row]))
    least = prediction.probabilities[row][-1]
    right, wrong = (math.log(max(said.get(case.word(name).lower(), least), 1e-30)) for name in ("correct", "wrong"))
    return right, wrong
