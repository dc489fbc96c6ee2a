"""Which question is answered how: models are opened by the worker and kept, least recently used first out, bounded in
bytes.

A question is a frozen value; its entry in ANSWERS is called with the question and a function that reports progress.
"""
import importlib
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from model.ask.jobs import JobQueue
from model.core.query import CardQuery, FirstLayerQuery, MeasuresQuery, NoNextWord, OverviewQuery, Query, UserError
from model.core.record import AttentionRecord
from model.core.trace import LastQuery, Trace, TraceQuery
from model.core.types import Progress, quiet
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
from model.studies.induction import InductionMeanQuery
from model.studies.next_token import NextWordQuery
from model.studies.patching import PatchQuery
from model.studies.patterns import FitsQuery
from model.studies.perplexity import ChainQuery
from model.studies.pronoun_choice import DecisionQuery, DecisionSetQuery
from model.studies.silencing import SilencingQuery
from model.training.film import HeadScoresQuery

CACHE_BYTES = int(os.environ.get("CLEARHEAD_CACHE_MB", "1024")) * 2**20
MODEL_BYTES = int(os.environ.get("CLEARHEAD_MODELS_MB", "6144")) * 2**20


class Models:
    """Open models by (id, revision)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def open(self, model_id: str, revision: str, report: Progress):
        key = (model_id, revision)
        if key not in self._open:
            opened = source_of(model_id).open_model(model_id, report)
            self._make_room(opened.nbytes)
            self._open[key] = opened
        self._open.move_to_end(key)
        return self._open[key]

    def _make_room(self, wanted: int) -> None:
        while self._open and sum(each.nbytes for each in self._open.values()) + wanted > self.limit:
            self._open.popitem(last=False)


def source_of(model_id: str):
    """The module that opens this model: imported files and the from-scratch ones by their names, anything else as
    pretrained."""
    from model.imported import source
    from model.scratch import catalogue

    if source.is_imported(model_id):
        return source
    return importlib.import_module("model.scratch.source" if catalogue.is_scratch(model_id)
                                   else "model.pretrained.load")


def implementation(model_id: str, name: str):
    """The module of that name in the package of this model, scratch or pretrained. Raises UserError for an imported
    file."""
    from model.imported import source

    if source.is_imported(model_id):
        raise UserError(source.ONLY_WEIGHTS)
    return importlib.import_module(f"{source_of(model_id).__package__}.{name}")


def _record(question: Query, report: Progress):
    return models.open(question.model, question.revision, report).answer(question, report)


def _first_layer(question: FirstLayerQuery, report: Progress):
    opened = models.open(question.query.model, question.query.revision, report)
    if desk.cache.get(question.query) is None and hasattr(opened, "first_layer"):
        return opened.first_layer(question.query, report)
    return _cached(question.query, report)


def _overview(question: OverviewQuery, report: Progress):
    from model.core import heads

    return heads.overview(_cached(question.query, report)[question.kind])


def _measures(question: MeasuresQuery, report: Progress):
    from model.core import measures

    return measures.measure(_cached(question.query, report)[question.kind])


def _fits(question: FitsQuery, report: Progress):
    from model.studies import patterns

    return patterns.fit(_cached(question.query, report)[question.kind])


def _silencing(question: SilencingQuery, report: Progress):
    from model.studies import silencing

    opened = models.open(question.query.model, question.query.revision, report)
    return silencing.run(question, _cached(question.query, report), lambda query: opened.answer(query, quiet), report)


def _texts(question: TextsQuery, report: Progress):
    from model.studies import corpus

    opened = models.open(question.model, question.revision, report)
    return corpus.run(question, lambda query: opened.answer(query, quiet), report)


def _card(question: CardQuery, report: Progress):
    return models.open(question.model, question.revision, report).card


def _cached(question, report: Progress):
    """The answer behind another question, such as its record, computed only if it is not there."""
    found = desk.cache.get(question)
    if found is None:
        found = ANSWERS[type(question)](question, report)
        desk.cache.put(question, found)
    return found


def _cases(question: CasesQuery, report: Progress):
    from model.studies.coreference import heads as coreference_heads

    return coreference_heads.run(question, models.open(question.model, question.revision, report), report)


def _answers(question: AnswersQuery, report: Progress):
    from model.studies.coreference import model_answers

    return model_answers.run(question, models.open(question.model, question.revision, report), report)


def _next_word(question: NextWordQuery, report: Progress):
    opened = models.open(question.query.model, question.query.revision, report)
    if not hasattr(opened, "next_word"):
        raise NoNextWord("This model from scratch does not write a next token of a text; choose a decoder, such as "
                         "SmolLM2.")
    return opened.next_word(question.query, report)


def _trace(question: TraceQuery, report: Progress):
    opened = models.open(question.query.model, question.query.revision, report)
    return implementation(question.query.model, "trace").trace(opened, question.query, report)


def _last(question: LastQuery, report: Progress):
    opened = models.open(question.query.model, question.query.revision, report)
    return implementation(question.query.model, "trace").last(opened, question, report)


def _chain(question: ChainQuery, report: Progress):
    opened = models.open(question.query.model, question.query.revision, report)
    return implementation(question.query.model, "perplexity").chain(opened, question.query, report)


def _comparison(question: ComparisonQuery, report: Progress):
    from model.studies import comparison

    return comparison.compare(question, _cached(question.first, report), _cached(question.second, report), report)


def _alignment(question: AlignmentQuery, report: Progress):
    from model.studies import comparison

    return comparison.align_texts(question, _cached(question.first, report), _cached(question.second, report))


def _patched(question: PatchQuery, report: Progress):
    opened = models.open(question.first.model, question.first.revision, report)
    return implementation(question.first.model, "patching").patch_heads(opened, question, report)


def _subject(question: AttributionQuery, report: Progress) -> tuple[Any, AttentionRecord, Trace | str]:
    """The model with this question put to it, the record of its pass, and the trace, or why there is none."""
    opened = models.open(question.query.model, question.query.revision, report)
    subject = implementation(question.query.model, "attribution").subject(opened, question, report)
    try:
        trace = _cached(TraceQuery(subject.query), report)
    except UserError as error:
        trace = str(error)
    return subject, _cached(subject.query, report), trace


def _attribution(question: AttributionQuery, report: Progress):
    from model.studies import attribution

    return attribution.attribute(question, *_subject(question, report), report)


def _swapped(question: SwapQuery, report: Progress):
    from model.studies import attribution

    return attribution.swap(question, *_subject(question.attribution, report), report)


def _short_run(question: RunQuery, report: Progress):
    from model.lessons import short_run

    return short_run.run(question, report)


def _copying(question: CopyQuery, report: Progress):
    from model.core.threads import one_thread
    from model.lessons import recurrent

    with one_thread():
        return recurrent.run(LIVE, SHORT, question.seed, report)


def _table(question: TableQuery, report: Progress):
    from model.lessons import embeddings

    return embeddings.table(models.open(question.model, question.revision, report), question, report)


def _contexts(question: ContextsQuery, report: Progress):
    from model.lessons import embeddings

    opened = models.open(question.first.model, question.first.revision, report)
    return embeddings.contexts(opened, question, lambda query: _cached(TraceQuery(query), report))


def _scores(question: ScoresQuery, report: Progress):
    from model.core.threads import one_thread

    with one_thread():
        return side_by_side(question, report)


def _cost(question: CostQuery, report: Progress):
    from model.lessons import cost

    return cost.measure(question, report)


def _information(question: InformationQuery, report: Progress):
    from model.lessons import information

    return information.measure_text(_cached(question.query, report)[question.kind], report)


def _small_world(question: DecisionQuery | DecisionSetQuery | InductionMeanQuery | HeadScoresQuery, report: Progress):
    from model.ask import small_models

    return small_models.answer(question, lambda model_id: models.open(model_id, question.revision, report), report)


ANSWERS: dict[type, Callable] = {NextWordQuery: _next_word, Query: _record, FirstLayerQuery: _first_layer,
                                 OverviewQuery: _overview, MeasuresQuery: _measures, FitsQuery: _fits,
                                 SilencingQuery: _silencing, TextsQuery: _texts, CardQuery: _card,
                                 TraceQuery: _trace, LastQuery: _last, AttributionQuery: _attribution,
                                 SwapQuery: _swapped,
                                 CasesQuery: _cases, AnswersQuery: _answers,
                                 RunQuery: _short_run, ChainQuery: _chain, ComparisonQuery: _comparison,
                                 AlignmentQuery: _alignment,
                                 PatchQuery: _patched, ScoresQuery: _scores,
                                 CopyQuery: _copying, CostQuery: _cost, InformationQuery: _information,
                                 TableQuery: _table, ContextsQuery: _contexts,
                                 **dict.fromkeys((DecisionQuery, DecisionSetQuery, InductionMeanQuery,
                                                  HeadScoresQuery), _small_world)}
models = Models(MODEL_BYTES)


def delay_of(question: Any) -> float:
    """Seconds after which a question is due: a hundredth for each ten characters of its text, which is about what a
    pass takes on two cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


desk = JobQueue(lambda question, report: ANSWERS[type(question)](question, report), CACHE_BYTES, delay_of)
