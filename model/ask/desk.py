"""ask(question) -> Job: the app's queue of questions, with answers cached in memory and on disk, and shipped answers.

A question is a frozen value whose `answer` method computes the result: an AttentionRecord for a `Query`, thumbnails for
an `OverviewQuery`, every head's fit to every pattern for a `FitsQuery`. The library answers questions with its
own `CachedModels`, without this queue.
"""
import os
import threading
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.model import sources
from clearhead.model.ask import kept
from clearhead.model.ask.jobs import Job, JobQueue
from clearhead.model.ask.shipped import find as shipped
from clearhead.model.core.files import home
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.models import A, Models, Question
from clearhead.model.core.query import Progress, Query, UserError, frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.scratch import source as scratch
from clearhead.model.sources import Cache
from clearhead.model.training import processes as training_film
from clearhead.model.training.processes import Film

if TYPE_CHECKING:
    from clearhead.model.scratch.vocabulary import Swap as Swap

__all__ = ["shipped"]


def delay_of(question: object) -> float:
    """Return the seconds after which a question becomes due: 1/1000 per character of its text, roughly the time of a
    pass on two cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


def answer(question: Question[A], report: Progress) -> A:
    """Compute the answer to a question. Records that a page requests are also cached on disk."""
    found = models.answer(question, report)
    # a non-daemon thread does not delay the page, and completes even if the program exits
    if isinstance(found, AttentionRecord) and isinstance(question, Query):
        threading.Thread(target=kept.keep, args=(found,), name="clearhead-keep", daemon=False).start()
    return found


cache = Cache(LIMITS.cache_bytes)


models = sources.CachedModels(LIMITS.models_bytes, cache)


queue = JobQueue(answer, cache, delay_of)


# sets in assets/cases/explain.csv, by kind of answer; the translator reads the resolver's sentences
OWN_SETS = {"label": "resolver", "next": "induction", "target": "resolver"}


def films() -> dict[str, str]:
    """Return {id: title} of the models with recorded training snapshots."""
    return {name: title for name, title in scratch.NAMES.items()
            if scratch.film_path(scratch.weights_file(name)[0]).exists()}


def film(model: str) -> Film:
    """Return the snapshots recorded so far in a model's training. Raises UserError if there are none."""
    return training_film.read_film(scratch.film_path(scratch.weights_file(model)[0]))


def scores(model: str) -> dict[str, float]:
    """Return a small model's scores on held-out data, as measured after its training."""
    from clearhead.model.scratch.models import read_metadata

    found: dict[str, float] = read_metadata(scratch.weights_file(model)[0])["scores"]
    return found


def vocabulary(model: str) -> dict[str, tuple[str, ...]]:
    """Return a small model's vocabulary as {group: phrases}; empty for a model that reads any word."""
    if not scratch.is_scratch(model):
        return {}
    from clearhead.model.scratch import vocabulary as small_world

    return small_world.groups(model)


def join_phrases(model: str, phrases: Sequence[str]) -> str:
    """Join phrases of a small model's vocabulary into a text."""
    from clearhead.model.scratch import vocabulary as small_world

    return small_world.join_phrases(model, phrases)


def swap(text: str) -> "Swap | None":
    """Return the adjectives that a small-world sentence can have; None for another text."""
    from clearhead.model.scratch import vocabulary as small_world

    return small_world.swap(text)


def text_set(model: str, kind: str, chosen: str) -> str:
    """Return the set of texts for measuring importance: the chosen one for models that read any text, else the one in
    the small model's vocabulary.

    kind: the model's kind of answer (`model.studies.attribution.Answer.kind`).
    """
    if model.split(scratch.SNAPSHOT)[0] == "stories":
        return "stories"
    return OWN_SETS[kind] if scratch.is_scratch(model) else chosen


def handout_folder() -> Path | None:
    """Return the folder in CLEARHEAD_HOME that keeps handouts across restarts, or None if CLEARHEAD_HANDOUTS=0."""
    return None if os.environ.get("CLEARHEAD_HANDOUTS") == "0" else home() / "handouts"


@frozen
class FetchQuery:
    """A request to download a model; the answer is its folder."""

    model: str

    def answer(self, models: Models, report: Progress) -> Path:
        """Download the model."""
        return sources.fetch_now(self.model, report)


# downloads have their own worker, to avoid delaying questions
downloads = JobQueue(lambda question, report: question.answer(models, report), Cache(10_000))


def fetch(model: str, session: str = "") -> Job:
    """Return the job that downloads a model. The download stops when no session is waiting, and a later call fetches
    the rest. Raises UserError if this server does not download models."""
    if not sources.may_fetch():
        raise UserError("This server does not download models; choose one that is marked as on disk.")
    return downloads.ask(FetchQuery(model), session)


def ask(question: Question[A], session: str = "") -> Job[A]:
    """Return the job that answers a question. `session` identifies the caller for fair queueing. A record cached on
    disk is used until `check` has run, and a shipped answer for this exact model until `measure_again` is called."""
    if question not in _doubted and cached(question) is None:
        known = kept.read(question) if isinstance(question, Query) else measured_before(question)
        if known is not None:
            cache.put(question, known)
    return queue.ask(question, session)


def measured_before(question: Hashable) -> Any:
    """Return the shipped answer to a question if it was measured on this exact model, else None."""
    known = shipped(question)
    return None if known is None or known.stale else known.answer


def measure_again(question: Hashable) -> None:
    """Make the next `ask` recompute a shipped answer."""
    _doubted.add(question)
    cache.drop(question)


def measured_here(question: Hashable) -> bool:
    """Return whether `measure_again` was called for a question."""
    return question in _doubted


_doubted: set[Hashable] = set()   # questions whose cached or shipped answers must not be used again


@frozen
class CheckQuery:
    """A request for the live record of a query, which replaces the cached one and the answers computed from it."""

    query: Query

    def answer(self, models: Models, report: Progress) -> AttentionRecord:
        """Return the record of a new pass."""
        try:
            live = self.query.answer(models, report)
        finally:   # not before the pass, so that pages keep the cached record meanwhile
            _doubted.add(self.query)
            cache.forget(self.query.model, self.query.text)
        cache.put(self.query, live)
        kept.keep(live)
        return live


def check(query: Query, session: str = "") -> bool:
    """Return whether a record was computed or confirmed by its model in this process. For a record from disk, the first
    call starts the check in the background."""
    known = cached(query)
    return known is None or known.verification.status != "kept" or queue.ask(CheckQuery(query), session).done


def cached(question: Hashable) -> Any:
    """Return the answer if it is cached, else None, without computing it."""
    return queue.cache.get(question)
