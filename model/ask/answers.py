"""Which question is answered how. The worker opens models and keeps them open, bounded in bytes.

A question is a frozen value; its entry in ANSWERS is called with the question and a function that reports progress.
What needs torch is imported where it computes, so that the first page waits for none of it.
"""
import importlib
import os
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

from model.ask import small_models
from model.ask.jobs import JobQueue
from model.core import heads, measures
from model.core.query import CardQuery, FirstLayerQuery, MeasuresQuery, NoNextWord, OverviewQuery, Query, UserError
from model.core.record import AttentionRecord, Card
from model.core.threads import one_thread
from model.core.trace import Last, LastQuery, Trace, TraceQuery
from model.core.types import Progress, quiet
from model.imported import source as imported_source
from model.lessons import contexts, copying, cost, information, scores, short_run
from model.scratch import catalogue as scratch_catalogue
from model.studies import (
    attribution,
    comparison,
    corpus,
    next_token,
    patching,
    patterns,
    perplexity,
    silencing,
    weight_swap,
)
from model.studies.coreference import heads as coreference_heads
from model.studies.coreference import model_answers
from model.studies.coreference.cases import AnswersQuery, CasesQuery
from model.studies.induction import InductionMeanQuery
from model.studies.pronoun_choice import DecisionQuery, DecisionSetQuery
from model.training.film import HeadScoresQuery

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
    if imported_source.is_imported(model_id):
        return imported_source
    return importlib.import_module("model.scratch.source" if scratch_catalogue.is_scratch(model_id)
                                   else "model.pretrained.load")


def implementation(model_id: str, name: str) -> ModuleType:
    """The module of that name in the package of this model, scratch or pretrained. Raises UserError for an imported
    file."""
    if imported_source.is_imported(model_id):
        raise UserError(imported_source.ONLY_WEIGHTS)
    return importlib.import_module(f"{source_of(model_id).__package__}.{name}")


def _model_of(asked: Any, report: Progress) -> Any:
    """The open model of a query, or of a question that names a model itself."""
    return models.open(asked.model, asked.revision, report)


def _cached(question: Any, report: Progress) -> Any:
    """The answer behind another question, such as its record, computed only if it is not there."""
    answer = desk.cache.get(question)
    if answer is None:
        answer = ANSWERS[type(question)](question, report)
        desk.cache.put(question, answer)
    return answer


def _record(question: Query, report: Progress) -> AttentionRecord:
    return _model_of(question, report).answer(question, report)


def _first_layer(question: FirstLayerQuery, report: Progress) -> AttentionRecord:
    opened = _model_of(question.query, report)
    if desk.cache.get(question.query) is None and hasattr(opened, "first_layer"):
        return opened.first_layer(question.query, report)
    return _cached(question.query, report)


def _overview(question: OverviewQuery, report: Progress) -> heads.Overview:
    return heads.overview(_cached(question.query, report)[question.kind])


def _measures(question: MeasuresQuery, report: Progress) -> measures.HeadMeasures:
    return measures.measure(_cached(question.query, report)[question.kind])


def _fits(question: patterns.FitsQuery, report: Progress) -> patterns.HeadFits:
    return patterns.fit(_cached(question.query, report)[question.kind])


def _silencing(question: silencing.SilencingQuery, report: Progress) -> silencing.Silencing:
    opened = _model_of(question.query, report)
    return silencing.run(question, _cached(question.query, report), lambda query: opened.answer(query, quiet), report)


def _texts(question: corpus.TextsQuery, report: Progress) -> corpus.Averages:
    opened = _model_of(question, report)
    return corpus.run(question, lambda query: opened.answer(query, quiet), report)


def _card(question: CardQuery, report: Progress) -> Card:
    return _model_of(question, report).card


def _cases(question: CasesQuery, report: Progress) -> coreference_heads.SetAnswer:
    return coreference_heads.run(question, _model_of(question, report), report)


def _answers(question: AnswersQuery, report: Progress) -> model_answers.Answers:
    return model_answers.run(question, _model_of(question, report), report)


def _next_word(question: next_token.NextWordQuery, report: Progress) -> next_token.NextWord:
    opened = _model_of(question.query, report)
    if not hasattr(opened, "next_word"):
        raise NoNextWord("This model from scratch does not write a next token of a text; choose a decoder, such as "
                         "SmolLM2.")
    return opened.next_word(question.query, report)


def _trace(question: TraceQuery, report: Progress) -> Trace:
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "trace").trace(opened, question.query, report)


def _last(question: LastQuery, report: Progress) -> Last:
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "trace").last(opened, question, report)


def _chain(question: perplexity.ChainQuery, report: Progress) -> perplexity.Chain:
    opened = _model_of(question.query, report)
    return implementation(question.query.model, "perplexity").chain(opened, question.query, report)


def _comparison(question: comparison.ComparisonQuery, report: Progress) -> comparison.Comparison:
    return comparison.compare(question, _cached(question.first, report), _cached(question.second, report), report)


def _alignment(question: comparison.AlignmentQuery, report: Progress) -> comparison.Alignment:
    return comparison.align_texts(question, _cached(question.first, report), _cached(question.second, report))


def _patched(question: patching.PatchQuery, report: Progress) -> patching.Patched:
    opened = _model_of(question.first, report)
    return implementation(question.first.model, "patching").patch_heads(opened, question, report)


def _subject(question: attribution.AttributionQuery, report: Progress) -> tuple[Any, AttentionRecord, Trace | str]:
    """The model with this question put to it, the record of its pass, and the trace, or why there is none."""
    opened = _model_of(question.query, report)
    subject = implementation(question.query.model, "attribution").subject(opened, question, report)
    try:
        trace = _cached(TraceQuery(subject.query), report)
    except UserError as error:
        trace = str(error)
    return subject, _cached(subject.query, report), trace


def _attribution(question: attribution.AttributionQuery, report: Progress) -> attribution.Attribution:
    return attribution.attribute(question, *_subject(question, report), report)


def _swapped(question: weight_swap.SwapQuery, report: Progress) -> weight_swap.Swapped:
    return weight_swap.swap_weights(question, *_subject(question.attribution, report), report)


def _copying(question: copying.CopyQuery, report: Progress) -> copying.Copying:
    from model.lessons import recurrent

    with one_thread():
        return recurrent.run(copying.LIVE, copying.SHORT, question.seed, report)


def _table(question: contexts.TableQuery, report: Progress) -> contexts.Table:
    from model.lessons import embeddings

    return embeddings.table(_model_of(question, report), question, report)


def _contexts(question: contexts.ContextsQuery, report: Progress) -> contexts.Contexts:
    from model.lessons import embeddings

    opened = _model_of(question.first, report)
    return embeddings.contexts(opened, question, lambda query: _cached(TraceQuery(query), report))


def _scores(question: scores.ScoresQuery, report: Progress) -> scores.Scores:
    with one_thread():
        return scores.side_by_side(question, report)


def _information(question: information.InformationQuery, report: Progress) -> information.Information:
    return information.measure_text(_cached(question.query, report)[question.kind], report)


def _small_world(question: DecisionQuery | DecisionSetQuery | InductionMeanQuery | HeadScoresQuery,
                 report: Progress) -> Any:
    return small_models.answer(question, lambda model_id: models.open(model_id, question.revision, report), report)


ANSWERS: dict[type, Callable[[Any, Progress], Any]] = {
    # a model and one pass of it
    Query: _record, FirstLayerQuery: _first_layer, CardQuery: _card, OverviewQuery: _overview,
    MeasuresQuery: _measures, TraceQuery: _trace, LastQuery: _last,
    # studies
    patterns.FitsQuery: _fits, silencing.SilencingQuery: _silencing, patching.PatchQuery: _patched,
    attribution.AttributionQuery: _attribution, weight_swap.SwapQuery: _swapped,
    comparison.ComparisonQuery: _comparison, comparison.AlignmentQuery: _alignment, corpus.TextsQuery: _texts,
    CasesQuery: _cases, AnswersQuery: _answers, next_token.NextWordQuery: _next_word, perplexity.ChainQuery: _chain,
    # lessons
    short_run.RunQuery: short_run.run, scores.ScoresQuery: _scores, copying.CopyQuery: _copying,
    cost.CostQuery: cost.measure, information.InformationQuery: _information,
    contexts.TableQuery: _table, contexts.ContextsQuery: _contexts,
    **dict.fromkeys((DecisionQuery, DecisionSetQuery, InductionMeanQuery, HeadScoresQuery), _small_world)}
models = Models(MODEL_BYTES)


def delay_of(question: Any) -> float:
    """Seconds after which a question is due: 1/1000 for each character of its text, about what a pass takes on two
    cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


desk = JobQueue(lambda question, report: ANSWERS[type(question)](question, report), CACHE_BYTES, delay_of)
