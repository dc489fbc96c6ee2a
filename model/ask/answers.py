"""Which question is answered how: models are opened by the worker and kept, least recently used first out, bounded in bytes.

A question is a frozen value; its entry in ANSWERS is called with the question and a tick that reports progress.
"""
import importlib
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from model.ask.jobs import Desk
from model.core.query import CardQuery, FirstLayerQuery, MeasuresQuery, NoNextWord, OverviewQuery, Query, UserError
from model.core.record import AttentionRecord
from model.core.trace import LastQuery, Trace, TraceQuery
from model.lessons.contexts import ContextsQuery, TableQuery
from model.lessons.copying import LIVE, SHORT, CopyQuery
from model.lessons.cost import CostQuery
from model.lessons.information import InformationQuery
from model.lessons.scores import ScoresQuery, side_by_side
from model.lessons.short_run import RunQuery
from model.studies.attribution import AttributionQuery, SwapQuery
from model.studies.comparison import AlignmentQuery, ComparisonQuery
from model.studies.coreference.cases import AnswersQuery, CasesQuery
from model.studies.corpus import TextsQuery
from model.studies.induction import HabitsQuery
from model.studies.next_token import NextWordQuery
from model.studies.patching import PatchQuery
from model.studies.patterns import FitsQuery
from model.studies.perplexity import ChainQuery
from model.studies.pronoun_choice import DecisionQuery, DecisionSetQuery
from model.studies.silencing import SilencingQuery
from model.training.film import TraitsQuery

CACHE_BYTES = int(os.environ.get("CLEARHEAD_CACHE_MB", "1024")) * 2**20
MODEL_BYTES = int(os.environ.get("CLEARHEAD_MODELS_MB", "6144")) * 2**20
Tick = Callable[[float, str], None]


class Models:
    """Open models by (id, revision)."""

    def __init__(self, limit: int):
        self.limit = limit
        self._open: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def open(self, model_id: str, revision: str, tick: Tick):
        key = (model_id, revision)
        if key not in self._open:
            opened = home(model_id).open_model(model_id, tick)
            self._make_room(opened.nbytes)
            self._open[key] = opened
        self._open.move_to_end(key)
        return self._open[key]

    def _make_room(self, wanted: int) -> None:
        while self._open and sum(each.nbytes for each in self._open.values()) + wanted > self.limit:
            self._open.popitem(last=False)


def home(model_id: str):
    """The module that opens this model: imported files and the from-scratch ones by their names, anything else as pretrained."""
    from model.imported import source
    from model.scratch import catalogue

    if source.ours(model_id):
        return source
    return importlib.import_module("model.scratch.source" if catalogue.ours(model_id) else "model.pretrained.load")


def beside(model_id: str, name: str):
    """The module of that name in the package of this model, scratch or pretrained. Raises UserError for an imported file."""
    from model.imported import source

    if source.ours(model_id):
        raise UserError(source.ONLY_WEIGHTS)
    return importlib.import_module(f"{home(model_id).__package__}.{name}")


def _record(question: Query, tick: Tick):
    return models.open(question.model, question.revision, tick).answer(question, tick)


def _first_layer(question: FirstLayerQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    if desk.cache.get(question.query) is None and hasattr(opened, "first_layer"):
        return opened.first_layer(question.query, tick)
    return _kept(question.query, tick)


def _overview(question: OverviewQuery, tick: Tick):
    from model.core import heads

    return heads.overview(_kept(question.query, tick)[question.kind])


def _measures(question: MeasuresQuery, tick: Tick):
    from model.core import measures

    return measures.measure(_kept(question.query, tick)[question.kind])


def _fits(question: FitsQuery, tick: Tick):
    from model.studies import patterns

    return patterns.fit(_kept(question.query, tick)[question.kind])


def _silencing(question: SilencingQuery, tick: Tick):
    from model.studies import silencing

    opened = models.open(question.query.model, question.query.revision, tick)
    return silencing.run(question, _kept(question.query, tick), lambda query: opened.answer(query, lambda fraction, text: None), tick)


def _texts(question: TextsQuery, tick: Tick):
    from model.studies import corpus

    opened = models.open(question.model, question.revision, tick)
    return corpus.run(question, lambda query: opened.answer(query, lambda fraction, text: None), tick)


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
    from model.studies.coreference import heads as coreference

    return coreference.run(question, models.open(question.model, question.revision, tick), tick)


def _answers(question: AnswersQuery, tick: Tick):
    from model.studies.coreference import model_answers

    return model_answers.run(question, models.open(question.model, question.revision, tick), tick)


def _next_word(question: NextWordQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    if not hasattr(opened, "next_word"):
        raise NoNextWord("This model from scratch does not write a next token of a text; choose a decoder, such as SmolLM2.")
    return opened.next_word(question.query, tick)


def _trace(question: TraceQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    return beside(question.query.model, "trace").trace(opened, question.query, tick)


def _last(question: LastQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    return beside(question.query.model, "trace").last(opened, question, tick)


def _chain(question: ChainQuery, tick: Tick):
    opened = models.open(question.query.model, question.query.revision, tick)
    return beside(question.query.model, "perplexity").chain(opened, question.query, tick)


def _comparison(question: ComparisonQuery, tick: Tick):
    from model.studies import comparison

    return comparison.compare(question, _kept(question.first, tick), _kept(question.second, tick), tick)


def _alignment(question: AlignmentQuery, tick: Tick):
    from model.studies import comparison

    return comparison.aligned(question, _kept(question.first, tick), _kept(question.second, tick))


def _patched(question: PatchQuery, tick: Tick):
    opened = models.open(question.first.model, question.first.revision, tick)
    return beside(question.first.model, "patching").patched(opened, question, tick)


def _subject(question: AttributionQuery, tick: Tick) -> tuple[Any, AttentionRecord, Trace | str]:
    """The model with this question put to it, the record of its pass, and the trace, or why there is none."""
    opened = models.open(question.query.model, question.query.revision, tick)
    subject = beside(question.query.model, "attribution").subject(opened, question, tick)
    try:
        trace = _kept(TraceQuery(subject.query), tick)
    except UserError as error:
        trace = str(error)
    return subject, _kept(subject.query, tick), trace


def _attribution(question: AttributionQuery, tick: Tick):
    from model.studies import attribution

    return attribution.attribute(question, *_subject(question, tick), tick)


def _swapped(question: SwapQuery, tick: Tick):
    from model.studies import attribution

    return attribution.swap(question, *_subject(question.attribution, tick), tick)


def _short_run(question: RunQuery, tick: Tick):
    from model.lessons import short_run

    return short_run.run(question, tick)


def _copying(question: CopyQuery, tick: Tick):
    from model.core.threads import one_thread
    from model.lessons import recurrent

    with one_thread():
        return recurrent.run(LIVE, SHORT, question.seed, tick)


def _table(question: TableQuery, tick: Tick):
    from model.lessons import embeddings

    return embeddings.table(models.open(question.model, question.revision, tick), question, tick)


def _contexts(question: ContextsQuery, tick: Tick):
    from model.lessons import embeddings

    opened = models.open(question.first.model, question.first.revision, tick)
    return embeddings.contexts(opened, question, lambda query: _kept(TraceQuery(query), tick))


def _scores(question: ScoresQuery, tick: Tick):
    from model.core.threads import one_thread

    with one_thread():
        return side_by_side(question, tick)


def _cost(question: CostQuery, tick: Tick):
    from model.lessons import cost

    return cost.measure(question, tick)


def _information(question: InformationQuery, tick: Tick):
    from model.lessons import information

    return information.measure_text(_kept(question.query, tick)[question.kind], tick)


def _small_world(question: DecisionQuery | DecisionSetQuery | HabitsQuery | TraitsQuery, tick: Tick):
    from model.ask import small_models

    return small_models.answer(question, lambda model_id: models.open(model_id, question.revision, tick), tick)


ANSWERS: dict[type, Callable] = {NextWordQuery: _next_word, Query: _record, FirstLayerQuery: _first_layer,
                                 OverviewQuery: _overview, MeasuresQuery: _measures, FitsQuery: _fits,
                                 SilencingQuery: _silencing, TextsQuery: _texts, CardQuery: _card,
                                 TraceQuery: _trace, LastQuery: _last, AttributionQuery: _attribution, SwapQuery: _swapped,
                                 CasesQuery: _cases, AnswersQuery: _answers,
                                 RunQuery: _short_run, ChainQuery: _chain, ComparisonQuery: _comparison, AlignmentQuery: _alignment,
                                 PatchQuery: _patched, ScoresQuery: _scores,
                                 CopyQuery: _copying, CostQuery: _cost, InformationQuery: _information, TableQuery: _table, ContextsQuery: _contexts,
                                 **dict.fromkeys((DecisionQuery, DecisionSetQuery, HabitsQuery, TraitsQuery), _small_world)}
models = Models(MODEL_BYTES)


def patience(question: Any) -> float:
    """Seconds after which a question is due: a hundredth for each ten characters of its text, which is about what a pass takes on two cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


desk = Desk(lambda question, tick: ANSWERS[type(question)](question, tick), CACHE_BYTES, patience)
