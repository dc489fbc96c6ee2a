"""Which question is answered how. The worker opens models and keeps them open, bounded in bytes.

A question is a frozen value; its entry in ANSWERS is called with the question and a function that reports progress.
What computes is imported by the entry, so that a page that asks nothing waits for no torch.
"""
import importlib
import os
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from model.core.heads import Overview
    from model.core.measures import HeadMeasures
    from model.core.record import Card
    from model.core.trace import Last
    from model.lessons.contexts import Contexts, Table
    from model.lessons.copying import Copying
    from model.lessons.cost import Cost
    from model.lessons.information import Information
    from model.lessons.scores import Scores
    from model.lessons.short_run import ShortRun
    from model.studies.attribution import Attribution, Swapped
    from model.studies.comparison import Alignment, Comparison
    from model.studies.coreference.heads import SetAnswer
    from model.studies.coreference.model_answers import Answers
    from model.studies.corpus import Averages
    from model.studies.next_token import NextWord
    from model.studies.patching import Patched
    from model.studies.patterns import HeadFits
    from model.studies.perplexity import Chain
    from model.studies.silencing import Silencing

CACHE_BYTES = int(os.environ.get("CLEARHEAD_CACHE_MB", "1024")) * 2**20
MODEL_BYTES = int(os.environ.get("CLEARHEAD_MODELS_MB", "6144")) * 2**20


class Models:
    """Open models by (id, revision), at most `limit` bytes of them; the least recently used goes first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def open(self, model_id: str, revision: str, report: Progress) -> Any:
        """The open model, opened if it is not. Raises UserError for one that is not there."""
        key = (model_id, revision)
        if key not in self._open:
            opened = source_of(model_id).open_model(model_id, report)
            self._make_room(opened.nbytes)
            self._open[key] = opened
        self._open.move_to_end(key)
        return self._open[key]

    def _make_room(self, wanted: int) -> None:
        while self._open and sum(model.nbytes for model in self._open.values()) + wanted > self.limit:
            self._open.popitem(last=False)


def source_of(model_id: str) -> ModuleType:
    """The module that opens this model, told by its id; what is no imported file and no model of ours is pretrained."""
    from model.imported import source
    from model.scratch import catalogue

    if source.is_imported(model_id):
        return source
    return importlib.import_module("model.scratch.source" if catalogue.is_scratch(model_id)
                                   else "model.pretrained.load")


def implementation(model_id: str, name: str) -> ModuleType:
    """The module of that name in the package of this model, scratch or pretrained. Raises UserError for an imported
    file."""
    from model.imported import source

    if source.is_imported(model_id):
        raise UserError(source.ONLY_WEIGHTS)
    return importlib.import_module(f"{source_of(model_id).__package__}.{name}")


def _model_of(asked: Any, report: Progress) -> Any:
    """The open model of a query, or of a question that names a model itself."""
    return models.open(asked.model, asked.revision, report)


def _record(question: Query, report: Progress) -> AttentionRecord:
    return _model_of(question, report).answer(question, report)


def _first_layer(question: FirstLayerQuery, report: Progress) -> AttentionRecord:
    opened = _model_of(question.query, report)
    if desk.cache.get(question.query) is None and hasattr(opened, "first_layer"):
        return opened.first_layer(question.query, report)
    return _cached(question.query, report)


def _overview(question: OverviewQuery, report: Progress) -> "Overview":
    from model.core import heads

    return heads.overview(_cached(question.query, report)[question.kind])


def _measures(question: MeasuresQuery, report: Progress) -> "HeadMeasures":
    from model.core import measures

    return measures.measure(_cached(question.query, report)[question.kind])


def _fits(question: FitsQuery, report: Progress) -> "HeadFits":
    from model.studies import patterns

    return patterns.fit(_cached(question.query, report)[question.kind])


def _silencing(question: SilencingQuery, report: Progress) -> "Silencing":
    from model.studies import silencing

    opened = _model_of(question.query, report)
    return silencing.run(question, _cached(question.query, report), lambda query: opened.answer(query, quiet), report)


def _texts(question: TextsQuery, report: Progress) -> "Averages":
    from model.studies import corpus

    opened = _model_of(question, report)
    return corpus.run(question, lambda query: opened.answer(query, quiet), report)


def _card(question: CardQuery, report: Progress) -> "Card":
    return _model_of(question, report).card


def _cached(question: Any, report: Progress) -> Any:
    """The answer behind another question, such as its record, computed only if it is not there."""
    answer = desk.cache.get(question)
    if answer is None:
        answer = ANSWERS[type(question)](question, report)
        desk.cache.put(question, answer)
    return answer


def _cases(question: CasesQuery, report: Progress) -> "SetAnswer":
    from model.studies.coreference import heads as coreference_heads

    return coreference_heads.run(question, _model_of(question, report), report)


def _answers(question: AnswersQuery, report: Progress) -> "Answers":
    from model.studies.coreference import model_answers

    return model_answers.run(question, _model_of(question, report), report)


def _next_word(question: NextWordQuery, report: Progress) -> "NextWord":
    opened = _model_of(question.query, report)
    if not hasattr(opened, "next_word"):
        raise NoNextWord("This model from scratch does not write a next token of a text; choose a decoder, such as "
                         "SmolLM2.")
    return opened.next_word(question.query, report)


def _trace(question: TraceQuery, report: Progress) -> Trace:
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "trace").trace(opened, question.query, report)


def _last(question: LastQuery, report: Progress) -> "Last":
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "trace").last(opened, question, report)


def _chain(question: ChainQuery, report: Progress) -> "Chain":
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "perplexity").chain(opened, question.query, report)


def _comparison(question: ComparisonQuery, report: Progress) -> "Comparison":
    from model.studies import comparison

    return comparison.compare(question, _cached(question.first, report), _cached(question.second, report), report)


def _alignment(question: AlignmentQuery, report: Progress) -> "Alignment":
    from model.studies import comparison

    return comparison.align_texts(question, _cached(question.first, report), _cached(question.second, report))


def _patched(question: PatchQuery, report: Progress) -> "Patched":
    opened = _model_of(question.first, report)
    return implementation(question.first.model, "patching").patch_heads(opened, question, report)


def _subject(question: AttributionQuery, report: Progress) -> tuple[Any, AttentionRecord, Trace | str]:
    """The model with this question put to it, the record of its pass, and the trace, or why there is none."""
    opened = _model_of(question.query, report)
    subject = implementation(question.query.model, "attribution").subject(opened, question, report)
    try:
        trace = _cached(TraceQuery(subject.query), report)
    except UserError as error:
        trace = str(error)
    return subject, _cached(subject.query, report), trace


def _attribution(question: AttributionQuery, report: Progress) -> "Attribution":
    from model.studies import attribution

    return attribution.attribute(question, *_subject(question, report), report)


def _swapped(question: SwapQuery, report: Progress) -> "Swapped":
    from model.studies import attribution

    return attribution.swap(question, *_subject(question.attribution, report), report)


def _short_run(question: RunQuery, report: Progress) -> "ShortRun":
    from model.lessons import short_run

    return short_run.run(question, report)


def _copying(question: CopyQuery, report: Progress) -> "Copying":
    from model.core.threads import one_thread
    from model.lessons import recurrent

    with one_thread():
        return recurrent.run(LIVE, SHORT, question.seed, report)


def _table(question: TableQuery, report: Progress) -> "Table":
    from model.lessons import embeddings

    return embeddings.table(_model_of(question, report), question, report)


def _contexts(question: ContextsQuery, report: Progress) -> "Contexts":
    from model.lessons import embeddings

    opened = _model_of(question.first, report)
    return embeddings.contexts(opened, question, lambda query: _cached(TraceQuery(query), report))


def _scores(question: ScoresQuery, report: Progress) -> "Scores":
    from model.core.threads import one_thread

    with one_thread():
        return side_by_side(question, report)


def _cost(question: CostQuery, report: Progress) -> "Cost":
    from model.lessons import cost

    return cost.measure(question, report)


def _information(question: InformationQuery, report: Progress) -> "Information":
    from model.lessons import information

    return information.measure_text(_cached(question.query, report)[question.kind], report)


def _small_world(question: DecisionQuery | DecisionSetQuery | InductionMeanQuery | HeadScoresQuery,
                 report: Progress) -> Any:
    from model.ask import small_models

    return small_models.answer(question, lambda model_id: models.open(model_id, question.revision, report), report)


ANSWERS: dict[type, Callable[[Any, Progress], Any]] = {
    Query: _record, FirstLayerQuery: _first_layer, CardQuery: _card, OverviewQuery: _overview,
    MeasuresQuery: _measures, TraceQuery: _trace, LastQuery: _last,
    FitsQuery: _fits, SilencingQuery: _silencing, PatchQuery: _patched, AttributionQuery: _attribution,
    SwapQuery: _swapped, ComparisonQuery: _comparison, AlignmentQuery: _alignment, TextsQuery: _texts,
    CasesQuery: _cases, AnswersQuery: _answers, NextWordQuery: _next_word, ChainQuery: _chain,
    RunQuery: _short_run, ScoresQuery: _scores, CopyQuery: _copying, CostQuery: _cost,
    InformationQuery: _information, TableQuery: _table, ContextsQuery: _contexts,
    **dict.fromkeys((DecisionQuery, DecisionSetQuery, InductionMeanQuery, HeadScoresQuery), _small_world)}
models = Models(MODEL_BYTES)


def delay_of(question: Any) -> float:
    """Seconds after which a question is due: 1/1000 for each character of its text, about what a pass takes on two
    cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


desk = JobQueue(lambda question, report: ANSWERS[type(question)](question, report), CACHE_BYTES, delay_of)
