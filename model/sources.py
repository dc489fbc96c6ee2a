"""Where models come from: packages, folders, hub ids, our own training, imported files and memory. `CachedModels` opens
them and answers questions about them in the caller's thread."""
import difflib
import os
import threading
from collections.abc import Hashable, Iterable
from contextvars import copy_context
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, cast

from clearhead.model.core.files import storable
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.memory import ByteCache
from clearhead.model.core.models import A, Located, NamesModel, OpenModel, Question, TraceQuery
from clearhead.model.core.query import (
    IN_MEMORY,
    Edit,
    Progress,
    Query,
    UnknownModel,
    UserError,
    frozen,
    quiet,
)
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.traces import Trace
from clearhead.model.imported import source as imported_source
from clearhead.model.pretrained import catalogue as pretrained_catalogue
from clearhead.model.pretrained.catalogue import catalogue_only
from clearhead.model.scratch import source as scratch

__all__ = ["catalogue_only"]
BLOCK = 16           # tokens that a trace holds together
MISSING = object()   # returned for a missing cache entry, since an answer may be None


def locate(model_id: str, **options: str) -> Located:
    """Find a model by its id. All models except imported files and our own are pretrained. options: the revision, dtype
    and device of a pretrained model. Raises UserError for an unknown model."""
    if model_id.startswith(imported_source.PREFIX):
        return imported_source.locate(model_id)
    if scratch.is_scratch(model_id):
        if options:
            raise UserError(f"{model_id} comes with Clearhead and computes in float32 on the CPU; leave revision=, "
                            f"dtype= and device= out.")
        return scratch.locate(model_id)
    if model_id.startswith(IN_MEMORY):
        from clearhead.model.pretrained import memory

        return memory.locate(model_id)
    from clearhead.model.pretrained import load

    try:
        return load.locate(load.with_options(model_id, **options) if options else model_id)
    except UnknownModel as error:
        raise with_nearest(error, model_id) from error


class Cache:
    """A thread-safe cache of answers by question, limited in bytes."""

    def __init__(self, most: int) -> None:
        self._answers: ByteCache[Hashable, object] = ByteCache(most, more=1000)
        self._lock = threading.Lock()

    def get(self, question: Hashable, default: object = None) -> Any:
        """Return the answer, or `default` if it is not cached."""
        with self._lock:
            return self._answers.get(question, default)

    def put(self, question: Hashable, answer: object) -> None:
        """Store an answer, evicting others until all remaining ones fit."""
        with self._lock:
            self._answers[question] = answer

    def drop(self, question: Hashable) -> None:
        """Remove one answer, if cached."""
        with self._lock:
            self._answers.pop(question, None)

    def forget(self, model: str, text: str) -> None:
        """Remove the answers to this text, edited or not, and to questions about it."""
        with self._lock:
            for question in [*self._answers]:
                if _asks(question, model, text):
                    del self._answers[question]

    def clear(self) -> None:
        """Remove every answer."""
        with self._lock:
            self._answers.clear()


def _asks(question: object, model: str, text: str) -> bool:
    """Return whether a question asks a model about a text, itself or in one of its parts."""
    if isinstance(question, Query):
        return (question.model, question.text) == (model, text)
    return is_dataclass(question) and any(_asks(part, model, text) for part in vars(question).values())


class CachedModels:
    """Open models by (id, revision), limited to `most` bytes, and the answers to questions about them."""

    def __init__(self, most: int, cache: Cache) -> None:
        self._open: ByteCache[tuple[str, str], OpenModel] = ByteCache(most)
        self.cache, self._turn = cache, threading.RLock()

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """Return the model that the question names, opening it if necessary. Raises UserError if it does not exist."""
        opened = self._open.get((asked.model, asked.revision))
        if opened is None:
            place = locate(asked.model)
            if place.revision != asked.revision:   # its folder was overwritten, or its program trained it
                raise UserError(f"The model has changed since the question was asked, from {asked.revision} to "
                                f"{place.revision}; ask again.")
            opened = self.opened(place, report)
        return opened

    def opened(self, place: Located, report: Progress = quiet) -> OpenModel:
        """Return a located model, opening it if necessary."""
        key = (place.id, place.revision)
        if key not in self._open:
            opened = place.open(report)
            if place.id == opened.card.id and place.id.startswith(IN_MEMORY):   # the program may release it
                return opened
            self._open[key] = opened
        return self._open[key]

    def answer(self, question: Question[A], report: Progress = quiet) -> A:
        """Answer any question in the caller's thread, one at a time, because hooks in its model observe a pass.
        Raises UserError if the question has no answer."""
        with self._turn:
            return copy_context().run(self._cached, question, report)   # with the question's own `rounding`

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """Return the answer to a query, computing it if it is not cached."""
        return self._cached(query, report)

    def trace(self, query: Query, report: Progress, tokens: tuple[int, ...] = ()) -> Trace:
        """Return the answer to the query's TraceQuery, computing it if it is not cached. With tokens, the trace holds
        the blocks of BLOCK tokens that contain them, so that questions about tokens of the same blocks share it."""
        starts = sorted({token - token % BLOCK for token in tokens})
        held = tuple(token for start in starts for token in range(start, start + BLOCK))
        return self._cached(TraceQuery(query, held), report)

    def _cached(self, question: Question[A], report: Progress) -> A:
        answer = self.cache.get(question, MISSING)
        if answer is MISSING:
            answer = question.answer(self, report)
            # a trace refers to the weights, which a program may change or release
            if not (isinstance(question, TraceQuery) and question.query.model.startswith(IN_MEMORY)):
                self.cache.put(question, answer)
        return cast(A, answer)


NEAREST = 3   # number of models suggested for an unknown name


@frozen
class Offer:
    """A catalogue model as shown in a menu."""

    id: str                        # its id in queries
    title: str                     # its name on the pages
    good_for: str                  # a sentence on when to choose it
    licence: str = "Apache-2.0"    # licence of the weights
    size: int = 0                  # bytes; 0 for Clearhead's own models
    on_disk: bool = True           # whether it can be used without a download
    translates: bool = False       # whether it has a target side
    every_byte: bool = False       # whether it reads any text without an unknown token
    writes: bool = False           # whether it predicts the next word
    pictures: bool = False         # whether it reads pictures


def may_fetch() -> bool:
    """Return whether visitors may download models on this server: True unless CLEARHEAD_FETCH=0."""
    return os.environ.get("CLEARHEAD_FETCH") != "0"


def catalogue() -> dict[str, Offer]:
    """Return every catalogue model available here by its id, those on this disk first."""
    pretrained = [Offer(entry.name, entry.title, entry.good_for, entry.licence, entry.size,
                        pretrained_catalogue.on_disk(entry), entry.translates, entry.every_byte, entry.writes,
                        entry.pictures)
                  for entry in pretrained_catalogue.ENTRIES if may_fetch() or pretrained_catalogue.on_disk(entry)]
    own = [Offer(name, title, good_for, translates=name == scratch.TRANSLATOR, writes=name in scratch.DECODERS,
                 pictures=name in scratch.OF_PICTURES)
           for name, (title, good_for) in scratch.OFFERS.items()]
    return {entry.id: entry for entry in sorted((*pretrained, *own), key=lambda entry: not entry.on_disk)}


def title_of(model: str) -> str:
    """Return a model's name on the pages: its title in the catalogue, else its id."""
    entry = catalogue().get(model)
    return model if entry is None else entry.title


def fetch_now(model: str, report: Progress) -> Path:
    """Return a model's folder, downloading the model if necessary. Raises UserError if that fails, and for Clearhead's
    own models, which have no folder."""
    if scratch.is_scratch(model):
        raise UserError(f"{model} comes with Clearhead, so there is nothing to fetch; use it directly.")
    from clearhead.model.pretrained.catalogue import Unreachable
    from clearhead.model.pretrained.fetch import fetch

    try:
        return fetch(model, report)
    except (UnknownModel, Unreachable) as error:
        raise with_nearest(error, model) from error


def revision(model: str) -> str:
    """Return the fingerprint of a model, as questions name it. Raises UserError for an unknown model."""
    return locate(model).revision


def with_nearest(error: UserError, model: str) -> UserError:
    """Return the error with the similar names in the catalogue appended, if there are any and `model` is not in the
    catalogue itself."""
    offers = {name.lower(): offer for offer in catalogue().values() for name in (offer.id, offer.title)}
    near = [offers[name] for name in difflib.get_close_matches(model.lower(), offers, n=NEAREST)]
    if not near or any(model == offer.id for offer in offers.values()):
        return error
    names = ", ".join(dict.fromkeys(f"{offer.id} ({offer.title})" for offer in near))
    return type(error)(f"{str(error).removesuffix('.')}; nearest by name are {names}.")


import_file = imported_source.store   # stores attention saved by another tool; returns the (model, text) to query


def imported_name(model: str) -> str | None:
    """Return the file name of an imported file's model id, or None for any other model."""
    return imported_source.title(model) if model.startswith(imported_source.PREFIX) else None


def untrained(model: str) -> str:
    """Return the id of the untrained version of a model: the first training snapshot of our own models, a twin of a
    pretrained model, or "scratch" itself, which was never trained."""
    from clearhead.model.pretrained.load import SUFFIX
    if not scratch.is_scratch(model):
        return model + SUFFIX
    return model if model == "scratch" else f"{model.split(scratch.SNAPSHOT)[0]}{scratch.SNAPSHOT}0"


def open_query(model: str, text: str, text_b: str | None = None, target: str | None = None,
               continuation: Iterable[int] = (), edits: Iterable[Edit] = (), image: str | None = None,
               chat: bool = False) -> Query:
    """Return a Query with the model's revision resolved. image: a picture's sha256, with which the text may be empty.
    chat: whether the text is a turn in the model's chat template. Raises UserError like `checked`, and for an unknown
    model."""
    place = locate(model)
    return checked(Query(model, place.revision, text, text_b, target, tuple(continuation), frozenset(edits), image,
                         chat), place)


def checked(query: Query, place: Located) -> Query:
    """Return the query with empty second texts and targets set to None, and with U+FFFD for lone surrogates, halves of
    characters that no tokenizer and no file can hold. place: its model. Raises UserError for an empty or overlong text,
    a picture for a text model, or chat with a model without a template."""
    for name, side in (("text", query.text), ("second text", query.text_b), ("target", query.target)):
        if not isinstance(side, str) and (side is not None or name == "text"):
            raise UserError(f"The {name} must be a string, not {type(side).__name__}.")
        LIMITS.refuse_above("longest_text", len(side or ""), f"The {name}", "shorten it")
    if (query.image is not None and "image" not in place.reads) or (query.image is None and place.reads == {"image"}):
        raise place.wrong_input()
    if query.image is None and not query.ids and not query.text.strip():
        raise UserError("The text is empty; type a sentence or choose an example.")
    if query.chat and "chat" not in place.reads:
        raise UserError(f"{query.model} has no chat template, so it cannot read a text as a chat turn; turn chat off.")
    if query.chat and query.text_b:
        raise UserError("A chat turn is one text; leave the second text empty or turn chat off.")
    text, text_b, target = (storable(side or "") for side in (query.text, query.text_b, query.target))
    return replace(query, text=text, text_b=text_b or None, target=target or None)
