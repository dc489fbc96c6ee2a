"""What the models trained here bring along: films of their training, the vocabulary of their small world, and answers
about how they do it.

Imports torch only to answer.
"""
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from model.core.types import Progress
from model.scratch.vocabulary import Swap
from model.studies import induction
from model.studies.induction import InductionMeanQuery
from model.studies.pronoun_choice import DecisionQuery, DecisionSetQuery
from model.training import film as training_film
from model.training.film import Film, HeadScoresQuery

# the translator reads the resolvers' sentences
OWN_SETS = {"label": "resolver", "next": "induction", "target": "resolver"}


def films() -> dict[str, str]:
    """The models whose training was filmed, {id: title}."""
    from model.scratch import catalogue

    return {name: title for name, title in catalogue.NAMES.items()
            if catalogue.film_path(catalogue.weights_file(name)[0]).exists()}


def film(model: str) -> Film:
    """The film of a model's training as far as it goes. Raises UserError if there is none."""
    from model.scratch import catalogue

    return training_film.read_film(catalogue.film_path(catalogue.weights_file(model)[0]))


def vocabulary(model: str) -> dict[str, tuple[str, ...]]:
    """Phrases of a small model's vocabulary by group, to be clicked together; nothing for a model that reads any
    word."""
    from model.scratch import catalogue
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.groups(model) if catalogue.is_scratch(model) else {}


def join_phrases(model: str, chosen: Iterable[str]) -> str:
    """Phrases of its vocabulary as a text."""
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.join_phrases(model, list(chosen))


def swap(text: str) -> Swap | None:
    """What the adjective of a sentence of the small world may be exchanged for; None for any other text."""
    from model.scratch import vocabulary as scratch_vocabulary

    return scratch_vocabulary.swap(text)


def text_set(model: str, kind: str, chosen: str) -> str:
    """The set of texts over which importance is measured: the chosen one for a model that reads any text, else that of
    a small model's own words.

    kind: how the model answers (`model.studies.attribution.Answer.kind`).
    """
    from model.scratch import catalogue

    return OWN_SETS[kind] if catalogue.is_scratch(model) else chosen


def answer(question: DecisionQuery | DecisionSetQuery | InductionMeanQuery | HeadScoresQuery,
           opened: Callable[[str], Any], report: Progress):
    """The answer; `opened(model id)` gives an open model. Raises UserError for a model that the question does not
    fit."""
    from model.scratch import catalogue, head_scores, pronoun_choice

    if isinstance(question, HeadScoresQuery):
        return training_film.run(question, lambda model_id: head_scores.score_heads(opened(model_id)), report)
    model = opened(question.model)
    if isinstance(question, InductionMeanQuery):
        found = induction.mean_scores(model, draws=question.draws, report=report)
        return replace(found,
                       copying=head_scores.copying(model,
                                                   found.heads)) if catalogue.is_scratch(question.model) else found
    if isinstance(question, DecisionQuery):
        return pronoun_choice.decide(question, model, report)
    return pronoun_choice.decide_set(question, model, report)
