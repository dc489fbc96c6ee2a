"""ask(question) -> Job: the one door to every model, from scratch or pretrained.

A question is a frozen value whose `answer` says what comes out: of a `Query` an AttentionRecord, of an `OverviewQuery`
thumbnails, of a `FitsQuery` how well every head fits every pattern.
"""
import difflib
import os
import threading
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

from model.ask import kept
from model.ask.jobs import MISSING, Cache, Job, JobQueue
from model.ask.shipped import Shipped
from model.ask.shipped import find as find_shipped
from model.core.limits import LIMITS, byte_cache
from model.core.models import NamesModel, OpenModel, TraceQuery
from model.core.query import Edit, Progress, Query, UnknownModel, UserError, pictures_only, text_only
from model.core.record import AttentionRecord
from model.core.trace import Trace
from model.imported import source as imported_source
from model.scratch import source as scratch
from model.scratch import vocabulary as scratch_vocabulary
from model.scratch.vocabulary import Swap
from model.training import processes as training_film
from model.training.processes import Film


class Source(Protocol):
    """A module where models come from."""

    def revision(self, model_id: str) -> str:
        """Return the fingerprint of weights, configuration and tokenizer. Raises UserError for an unknown model."""

    def sides(self, model_id: str) -> frozenset[str]:
        """Return what the model reads beside a text: text_b, target. Raises UserError for an unknown model."""

    def open_model(self, model_id: str, report: Progress) -> OpenModel:
        """Return the model, ready to answer. Raises UserError if it cannot be opened."""


def source_of(model_id: str) -> Source:
    """Return where this model comes from, told by its id; what is no imported file and no model of ours is
    pretrained."""
    if imported_source.is_imported(model_id):
        return cast(Source, imported_source)   # an imported file refuses by __getattr__ what only a model could do
    if scratch.is_scratch(model_id):
        return scratch
    from model.pretrained import load

    return load


class CachedModels:
    """Open models by (id, revision), at most `most` bytes of them, and the answers that are cached."""

    def __init__(self, most: int, cache: Cache) -> None:
        self._open, self.cache = byte_cache(most), cache

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """Return the model that a question is put to, opened if it is not. Raises UserError for one that is not
        there."""
        key = (asked.model, asked.revision)
        if key not in self._open:
            self._open[key] = source_of(asked.model).open_model(asked.model, report)
        return self._open[key]

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the answer to a query, computed only if it is not there."""
        return self._cached(query, report)

    def trace(self, query: Query, report: Progress) -> Trace:
        """Return the answer to its TraceQuery, computed only if it is not there."""
        return self._cached(TraceQuery(query), report)

    def _cached(self, question: Query | TraceQuery, report: Progress) -> Any:
        answer = self.cache.get(question, MISSING)
        if answer is MISSING:
            answer = question.answer(self, report)
            self.cache.put(question, answer)
        return answer


def delay_of(question: Any) -> float:
    """Return seconds after which a question is due: 1/1000 for each character of its text, about what a pass takes on
    two cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


def answer(question: Any, report: Progress) -> Any:
    """Return the answer to a question; a record that a page asks for is kept on disk."""
    found = question.answer(models, report)
    if isinstance(question, Query):   # not in the way of the page, nor lost where the program ends at once
        threading.Thread(target=kept.keep, args=(found,), name="clearhead-keep", daemon=False).start()
    return found


cache = Cache(LIMITS.cache_bytes)
models = CachedModels(LIMITS.models_bytes, cache)
desk = JobQueue(answer, cache, delay_of)


# sets of assets/cases/explain.csv by the way in which a model answers; the translator reads the resolvers' sentences
OWN_SETS = {"label": "resolver", "next": "induction", "target": "resolver"}


def films() -> dict[str, str]:
    """Return the models whose training was filmed, {id: title}."""
    return {name: title for name, title in scratch.NAMES.items()
            if scratch.film_path(scratch.weights_file(name)[0]).exists()}


def film(model: str) -> Film:
    """Return the film of a model's training as far as it goes. Raises UserError if there is none."""
    return training_film.read_film(scratch.film_path(scratch.weights_file(model)[0]))


def scores(model: str) -> dict[str, float]:
    """Return what a small model reached in what it was not trained on, as its training measured it."""
    from model.scratch.models import read_metadata

    found: dict[str, float] = read_metadata(scratch.weights_file(model)[0])["scores"]
    return found


def vocabulary(model: str) -> dict[str, tuple[str, ...]]:
    """Return {group: phrases of a small model's vocabulary}; empty for a model that reads any word."""
    return scratch_vocabulary.groups(model) if scratch.is_scratch(model) else {}


def join_phrases(model: str, chosen: Iterable[str]) -> str:
    """Return a text of these phrases of the model's vocabulary."""
    return scratch_vocabulary.join_phrases(model, list(chosen))


def swap(text: str) -> Swap | None:
    """Return what the adjective of a sentence of the small world may be exchanged for; None for any other text."""
    return scratch_vocabulary.swap(text)


def text_set(model: str, kind: str, chosen: str) -> str:
    """Return the set of texts over which importance is measured: the chosen one for a model that reads any text, else
    that of a small model's own words.

    kind: how the model answers (`model.studies.attribution.Answer.kind`).
    """
    if model.split(scratch.SNAPSHOT)[0] == "stories":
        return "stories"
    return OWN_SETS[kind] if scratch.is_scratch(model) else chosen


NEAREST = 3   # models whose names are offered in place of an unknown one


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue as a menu shows it."""

    id: str                        # under which it is asked
    title: str                     # what people call it
    good_for: str                  # one sentence on what it shows well
    licence: str = "Apache-2.0"    # of its weights
    size: int = 0                  # bytes; 0 for one that came with Clearhead or is made on the spot
    on_disk: bool = True           # whether it can be asked without a download
    translates: bool = False       # has a second side: a target
    every_byte: bool = False       # reads any text without an unknown token
    writes: bool = False           # the next word of any text
    pictures: bool = False         # looks at pictures


def may_fetch() -> bool:
    """Return whether people on this server may download models, unless CLEARHEAD_FETCH=0."""
    return os.environ.get("CLEARHEAD_FETCH") != "0"


def handout_folder() -> Path | None:
    """Return the folder in which handouts outlive the server, in CLEARHEAD_HOME; None where CLEARHEAD_HANDOUTS=0 says
    that nothing is to be written."""
    from model.pretrained import catalogue

    return None if os.environ.get("CLEARHEAD_HANDOUTS") == "0" else catalogue.home() / "handouts"


def catalogue_only() -> bool:
    """Return whether this server is for strangers: no folders and no hub ids, by CLEARHEAD_CATALOGUE_ONLY=1."""
    from model.pretrained import catalogue

    return catalogue.catalogue_only()


def catalogue() -> tuple[Entry, ...]:
    """Return every model of the catalogue that can be had here, those on this disk first."""
    from model.pretrained import catalogue as pretrained_catalogue

    pretrained = [Entry(entry.name, entry.title, entry.good_for, entry.licence, entry.size,
                        pretrained_catalogue.on_disk(entry), entry.translates, entry.every_byte, entry.writes,
                        entry.pictures)
                  for entry in pretrained_catalogue.ENTRIES if may_fetch() or pretrained_catalogue.on_disk(entry)]
    own = [Entry(name, title, good_for, translates=name == scratch.TRANSLATOR,
                 pictures=name in scratch.OF_PICTURES)
           for name, (title, good_for) in scratch.OFFERS.items()]
    return tuple(sorted((*pretrained, *own), key=lambda entry: not entry.on_disk))


@dataclass(frozen=True)
class FetchQuery:
    """Bring a model to this disk: answered by its folder."""

    model: str


def fetch_now(model: str, report: Progress) -> Path:
    """Return the folder of a model, brought to this disk if it is not there. Raises UserError if it cannot be had, and
    for Clearhead's own models, which have none."""
    if scratch.is_scratch(model):
        raise UserError(f"{model} comes with Clearhead, so there is nothing to fetch; ask it as it is.")
    from model.pretrained.catalogue import Unreachable
    from model.pretrained.fetch import fetch

    try:
        return fetch(model, report)
    except (UnknownModel, Unreachable) as error:
        raise with_nearest(error, model) from error


# a worker of its own, so that nobody's question waits for a download
downloads = JobQueue(lambda question, report: fetch_now(question.model, report), Cache(10_000))


def fetch(model: str, session: str = "") -> Job:
    """Return the job that brings a model to this disk. It stops when its last waiter leaves; asked again, it goes on
    from there. Raises UserError if this server downloads nothing."""
    if not may_fetch():
        raise UserError("This server downloads no models; choose one that is marked as on disk.")
    return downloads.ask(FetchQuery(model), session)


def ask(question: Hashable, session: str = "") -> Job:
    """Return the job that answers a question; `session` names who waits, so that nobody's long text starves the others.
    Of a query whose record was kept on disk that record, until `check` has run; of a question that was measured
    beforehand, on this very model, that answer, until `measure_again`."""
    if question not in _doubted and cached(question) is None:
        known = kept.read(question) if isinstance(question, Query) else measured_before(question)
        if known is not None:
            cache.put(question, known)
    return desk.ask(question, session)


def measured_before(question: Hashable) -> Any:
    """Return the shipped answer to a question, where it was measured on this very model; else None."""
    known = shipped(question)
    return None if known is None or known.stale else known.answer


def measure_again(question: Hashable) -> None:
    """Has the next `ask` measure what was shipped."""
    _doubted.add(question)
    cache.drop(question)


def measured_here(question: Hashable) -> bool:
    """Return whether `measure_again` was asked of a question."""
    return question in _doubted


_doubted: set[Hashable] = set()   # whose kept or shipped answers are not believed any more
REPLACED = ("The picture that was kept of this text on this machine differed from what the model computes now, and was "
            "replaced.")


@dataclass(frozen=True)
class CheckQuery:
    """The live record of a query, in the place of the one that was kept."""

    query: Query

    def answer(self, models: CachedModels, report: Progress) -> AttentionRecord:
        """Return the record of a pass. Every answer that was worked out from a record with other numbers goes."""
        known = models.cache.get(self.query)
        try:
            live = self.query.answer(models, report)
        except UserError:
            _doubted.add(self.query)
            models.cache.clear()
            raise
        if known is not None and known.verification.status == "kept":
            far = kept.difference(known, live)
            if far > 0:
                models.cache.clear()
            if far > kept.SAME or live.verification.status != "verified":
                live = replace(live, notes=(*live.notes, REPLACED))
                kept.discard(self.query)
                _doubted.add(self.query)
        models.cache.put(self.query, live)
        return live


def shipped(question: Hashable) -> Shipped | None:
    """Return the answer that was measured beforehand and shipped, if there is one."""
    return find_shipped(question)


def check(query: Query, session: str = "") -> bool:
    """Return whether a record was computed or confirmed by its model, and not only kept; the first call for one that
    was kept has the model answer it behind the page."""
    known = cached(query)
    return known is None or known.verification.status != "kept" or desk.ask(CheckQuery(query), session).done


def cached(question: Hashable) -> Any:
    """Return the answer if it is in the cache, else None; never computes."""
    return desk.cache.get(question)


def revision(model: str) -> str:
    """Return the fingerprint of a model, for questions that have no text of their own. Raises UserError for an unknown
    model."""
    try:
        return source_of(model).revision(model)
    except UnknownModel as error:
        raise with_nearest(error, model) from error


def sides(model: str) -> frozenset[str]:
    """Return what a model reads beside a text: text_b, target; chat, of one with a chat template; image, of one that
    reads pictures, and text if it reads texts as well. Raises UserError for an unknown model."""
    revision(model)
    return source_of(model).sides(model)


def with_nearest(error: UserError, model: str) -> UserError:
    """Return the same sentence with the models of the catalogue whose names or titles are nearest to `model`; as it is
    where that is one of them."""
    offers = {name.lower(): offer for offer in catalogue() for name in (offer.id, offer.title)}
    if any(model == offer.id for offer in offers.values()):
        return error
    near = [offers[name] for name in difflib.get_close_matches(model.lower(), offers, n=NEAREST, cutoff=0)]
    names = ", ".join(dict.fromkeys(f"{offer.id} ({offer.title})" for offer in near))
    return type(error)(f"{str(error).removesuffix('.')}; nearest by name are {names}.")


def import_file(content: bytes, name: str, session: str = "") -> tuple[str, str]:
    """Return (model, text) under which attention that another tool saved as NPZ can be asked for; kept in this process
    only, until newer files of this session, or of all, need its room.

    Raises UserError for a file that holds none.
    """
    from model.imported import source

    return source.store(content, name, session)


def imported_name(model: str) -> str | None:
    """Return the file name of a model that is an imported file; None for any other."""
    from model.imported import source

    return source.title(model) if source.is_imported(model) else None


def untrained(model: str) -> str:
    """Return the id of the model with random weights: the first frame of the film of one that was trained here, a twin
    of a pretrained one, and "scratch" itself, which never was trained."""
    from model.pretrained.load import SUFFIX
    if not scratch.is_scratch(model):
        return model + SUFFIX
    return model if model == "scratch" else f"{model.split(scratch.SNAPSHOT)[0]}{scratch.SNAPSHOT}0"


def _wrong_input(model: str, reads: frozenset[str]) -> UserError:
    """Return the sentence about a picture for a model that takes none, or a text for one that takes no text."""
    from model.pretrained import load

    if source_of(model) is load:
        return load.wrong_input(model)
    return pictures_only(model) if "image" in reads else text_only(model)


def open_query(model: str, text: str, text_b: str | None = None, target: str | None = None,
               continuation: Iterable[int] = (), edits: Iterable[Edit] = (), image: str | None = None,
               chat: bool = False) -> Query:
    """Return a Query with the model's revision resolved. image: the sha256 of a picture, with which the text may be
    empty. chat: whether the text is a turn in the model's chat template. Raises UserError for an empty or too long
    text, an unknown model, a picture for a model that reads none, and a chat with one that has no template."""
    for name, side in (("text", text), ("second text", text_b), ("target", target)):
        LIMITS.refuse_above("longest_text", len(side or ""), f"The {name}", "shorten it")
    fingerprint = revision(model)
    reads = sides(model)
    if (image is not None and "image" not in reads) or (image is None and reads == {"image"}):
        raise _wrong_input(model, reads)
    if image is None and not text.strip():
        raise UserError("There is no text to look at; type a sentence or choose an example.")
    if chat and "chat" not in reads:
        raise UserError(f"{model} has no chat template, so a text is no turn of a chat; leave the chat out.")
    if chat and text_b:
        raise UserError("A turn of a chat is one text; leave the second text empty, or the chat out.")
    return Query(model, fingerprint, text, text_b or None, target or None, tuple(continuation), frozenset(edits), image,
                 chat)
