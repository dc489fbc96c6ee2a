"""ask(question) -> Job: the one door to every model, from scratch or pretrained.

A question is a frozen value: a `Query` is answered by an AttentionRecord, an `OverviewQuery` by thumbnails, a `MeasuresQuery` by
measures. Models are opened by the worker and kept, least recently used first out, bounded in bytes.
"""
import importlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from model.chain import ChainQuery
from model.comparison import ComparisonQuery
from model.coref_cases import AnswersQuery, CasesQuery
from model.decision import DecisionQuery, DecisionSetQuery
from model.film import TraitsQuery
from model.jobs import Desk, Job
from model.lessons.contexts import ContextsQuery, TableQuery
from model.lessons.copying import LIVE, SHORT, CopyQuery
from model.lessons.cost import CostQuery
from model.lessons.information import InformationQuery
from model.lessons.scores import ScoresQuery, side_by_side
from model.lessons.short_run import RunQuery
from model.next_word import NextWordQuery
from model.query import Edit, Kind, Query, UserError
from model.repeats import HabitsQuery
from model.trace import TraceQuery

CACHE_BYTES = int(os.environ.get("CLEARHEAD_CACHE_MB", "1024")) * 2**20
MODEL_BYTES = int(os.environ.get("CLEARHEAD_MODELS_MB", "6144")) * 2**20
LONGEST_TEXT = 1_000_000  # characters; beyond, even cutting it into tokens takes longer than anybody waits
Tick = Callable[[float, str], None]


@dataclass(frozen=True)
class OverviewQuery:
    """Thumbnails of every head of one kind: answered by `model.heads.Overview`."""

    query: Query
    kind: Kind


@dataclass(frozen=True)
class MeasuresQuery:
    """The measures of every head of one kind: answered by `model.measures.HeadMeasures`."""

    query: Query
    kind: Kind


@dataclass(frozen=True)
class CardQuery:
    """A model's card without a text: answered by `model.record.Card`; opens the model, which verifies it."""

    model: str
    revision: str


@dataclass(frozen=True)
class Offer:
    """A model of the catalogue as a menu shows it; size in bytes, 0 for one that is made on the spot."""

    id: str
    title: str
    good_for: str
    licence: str = "Apache-2.0"
    size: int = 0
    on_disk: bool = True
    translates: bool = False
    every_byte: bool = False   # reads any text without an unknown token


class Models:
    """Open models by (id, revision)."""

    def __init__(self, limit: int):
        self.limit = limit
        self._open: OrderedDict[tuple[str, str], object] = OrderedDict()

    def open(self, model_id: str, revision: str, tick: Tick):
        key = (model_id, revision)
        if key not in self._open:
            opened = _home(model_id).open_model(model_id, tick)
            self._make_room(opened.nbytes)
            self._open[key] = opened
        self._open.move_to_end(key)
        return self._open[key]

    def _make_room(self, wanted: int) -> None:
        while self._open and sum(each.nbytes for each in self._open.values()) + wanted > self.limit:
            self._open.popitem(last=False)


def _home(model_id: str):
    """The module that opens this model: the from-scratch ones by their short names, anything else as pretrained."""
    from model.scratch import catalogue

    return importlib.import_module("model.scratch.answer" if catalogue.ours(model_id) else "model.pretrained.load")


def _record(question: Query, tick: Tick):
    return models.open(question.model, question.revision, tick).answer(question, tick)


def _overview(question: OverviewQuery, tick: Tick):
    from model import heads

    return heads.overview(_kept(question.query, tick)[question.kind])


def _measures(question: MeasuresQuery, tick: Tick):
    from model import measures

    return measures.measure(_kept(question.query, tick)[question.kind])


def _card(question: CardQuery, tick: Tick):
    return models.open(question.model, question.revision, tick).card


def _kept(question, tick: Tick):
    """The answer behind another question, such as its record, computed only if it is not there."""
    found = desk.cache.get(question)
    if found is None:
        found = ANSWERS[type(question)](question, tick)
        desk.cache.put(question, found)
    return found


def _cases(question: CasesQuery, tick: Tick):
    from model import coreference

    return coreference.run(question, models.open(question.model, question.revision, tick), tick)


def _answers(question: AnswersQuery, tick: Tick):
    from model import coref_answers

    return coref_answers.run(question, models.open(question.model, question.revision, tick), tick)


def _next_word(question: NextWordQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    if not hasattr(opened, "next_word"):
        raise UserError("The models from scratch do not write a next token of a text; choose a decoder, such as SmolLM2.")
    return opened.next_word(question.query, tick)


def _trace(question: TraceQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    home = "scratch" if _home(question.query.model).__name__.startswith("model.scratch") else "pretrained"
    return importlib.import_module(f"model.{home}.trace").trace(opened, question.query, tick)


def _chain(question: ChainQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    home = "scratch" if _home(question.query.model).__name__.startswith("model.scratch") else "pretrained"
    return importlib.import_module(f"model.{home}.chain").chain(opened, question.query, tick)


def _comparison(question: ComparisonQuery, tick: Tick):
    from model import comparison

    return comparison.compare(question, _kept(question.first, tick), _kept(question.second, tick))


def _short_run(question: RunQuery, tick: Tick):
    from model.lessons import short_run

    return short_run.run(question, tick)


def _copying(question: CopyQuery, tick: Tick):
    from model.scratch import recurrent
    from model.scratch.train import one_thread

    with one_thread():
        return recurrent.run(LIVE, SHORT, question.seed, tick)


def _table(question: TableQuery, tick: Tick):
    from model.pretrained import vectors

    return vectors.table(models.open(question.model, question.revision, tick), question, tick)


def _contexts(question: ContextsQuery, tick: Tick):
    from model.pretrained import vectors

    opened = models.open(question.first.model, question.first.revision, tick)
    return vectors.contexts(opened, question, lambda query: _kept(TraceQuery(query), tick))


def _scores(question: ScoresQuery, tick: Tick):
    from model.scratch.train import one_thread

    with one_thread():
        return side_by_side(question, tick)


def _cost(question: CostQuery, tick: Tick):
    from model.lessons import cost

    return cost.measure(question, tick)


def _information(question: InformationQuery, tick: Tick):
    from model.lessons import information

    return information.measure_text(_kept(question.query, tick)[question.kind], tick)


def _small_world(question: DecisionQuery | DecisionSetQuery | HabitsQuery | TraitsQuery, tick: Tick):
    from model import small_world

    return small_world.answer(question, lambda model_id: models.open(model_id, question.revision, tick), tick)


ANSWERS: dict[type, Callable] = {NextWordQuery: _next_word, Query: _record, OverviewQuery: _overview, MeasuresQuery: _measures, CardQuery: _card,
                                 TraceQuery: _trace, CasesQuery: _cases, AnswersQuery: _answers,
                                 RunQuery: _short_run, ChainQuery: _chain, ComparisonQuery: _comparison, ScoresQuery: _scores,
                                 CopyQuery: _copying, CostQuery: _cost, InformationQuery: _information, TableQuery: _table, ContextsQuery: _contexts,
                                 **dict.fromkeys((DecisionQuery, DecisionSetQuery, HabitsQuery, TraitsQuery), _small_world)}
models = Models(MODEL_BYTES)
desk = Desk(lambda question, tick: ANSWERS[type(question)](question, tick), CACHE_BYTES)


def catalogue_only() -> bool:
    """Whether this server is for strangers: no folders and no hub ids, by CLEARHEAD_CATALOGUE_ONLY=1."""
    return os.environ.get("CLEARHEAD_CATALOGUE_ONLY") == "1"


def offers() -> tuple[Offer, ...]:
    """Every model of the catalogue, from scratch ones last."""
    from model.pretrained import catalogue as pretrained
    from model.scratch import catalogue as scratch

    found = [Offer(each.name, each.title, each.good_for, each.licence, each.size, pretrained.on_disk(each), each.translates, each.every_byte)
             for each in pretrained.ENTRIES]
    own = [Offer(name, title, good_for, translates=name == scratch.TRANSLATOR) for name, (title, good_for) in scratch.OFFERS.items()]
    return (*found, *own)


@dataclass(frozen=True)
class FetchQuery:
    """Bring a model to this disk: answered by its folder. A download has a worker of its own, so that nobody's question waits for it."""

    model: str


def _fetch(question: FetchQuery, tick: Tick):
    from model.pretrained.fetch import fetch

    return fetch(question.model, tick)


downloads = Desk(_fetch, 10_000)


def fetch(model: str, session: str = "") -> Job:
    """The job that brings a model to this disk; it stops when its last waiter leaves, and goes on from there when it is asked again."""
    return downloads.ask(FetchQuery(model), session)


def ask(question, session: str = "") -> Job:
    """The job that answers a question; `session` names who waits, so that nobody's long text starves the others."""
    return desk.ask(question, session)


def kept(question):
    """The answer if it is in the cache, else None; never computes."""
    return desk.cache.get(question)


def revision(model: str) -> str:
    """The fingerprint of a model, for questions that have no text of their own. Raises UserError for an unknown model."""
    return _home(model).revision(model)


def untrained(model: str) -> str:
    """The id of a model's untrained twin: of one that was trained here the start of its film; the one that never was trained is its own."""
    from model.pretrained.untrained import SUFFIX
    from model.scratch.catalogue import SNAPSHOT, ours

    if not ours(model):
        return model + SUFFIX
    return model if model == "scratch" else f"{model.split(SNAPSHOT)[0]}{SNAPSHOT}0"


def open_query(model: str, text: str, text_b: str | None = None, target: str | None = None, continuation: Iterable[int] = (),
               edits: Iterable[Edit] = ()) -> Query:
    """A Query with the model's revision resolved. Raises UserError for a text that cannot be asked and for an unknown model."""
    for name, each in (("text", text), ("second text", text_b), ("target", target)):
        if each is not None and len(each) > LONGEST_TEXT:
            raise UserError(f"The {name} has {len(each):,} characters and the limit is {LONGEST_TEXT:,}; shorten it.")
    if not text.strip():
        raise UserError("There is no text to look at; type a sentence or choose an example.")
    return Query(model, revision(model), text, text_b or None, target or None, tuple(continuation), frozenset(edits))
