"""The open models and the cached answers that questions are computed from: what `model.core.models.Models` promises.

What needs torch is imported where a model is opened, so that the first page waits for none of it.
"""
from typing import Any, Protocol, cast

from model.ask.jobs import MISSING, Cache, JobQueue
from model.core.byte_cache import byte_cache
from model.core.limits import LIMITS
from model.core.models import NamesModel, OpenModel, TraceQuery
from model.core.query import Query
from model.core.record import AttentionRecord
from model.core.trace import Trace
from model.core.types import Progress
from model.imported import source as imported_source
from model.scratch import catalogue as scratch_catalogue


class Source(Protocol):
    """A module where models come from."""

    def revision(self, model_id: str) -> str:
        """The fingerprint of weights, configuration and tokenizer. Raises UserError for an unknown model."""

    def sides(self, model_id: str) -> frozenset[str]:
        """What the model reads beside a text: text_b, target. Raises UserError for an unknown model."""

    def open_model(self, model_id: str, report: Progress) -> OpenModel:
        """The model, ready to answer. Raises UserError if it cannot be opened."""


def source_of(model_id: str) -> Source:
    """Where this model comes from, told by its id; what is no imported file and no model of ours is pretrained."""
    if imported_source.is_imported(model_id):
        return cast(Source, imported_source)   # an imported file refuses by __getattr__ what only a model could do
    if scratch_catalogue.is_scratch(model_id):
        from model.scratch import source

        return source
    from model.pretrained import load

    return load


class CachedModels:
    """Open models by (id, revision), at most `most` bytes of them, and the answers that are cached."""

    def __init__(self, most: int, cache: Cache) -> None:
        self._open, self.cache = byte_cache(most), cache

    def open(self, asked: NamesModel, report: Progress) -> OpenModel:
        """The model that a question is put to, opened if it is not. Raises UserError for one that is not there."""
        key = (asked.model, asked.revision)
        if key not in self._open:
            self._open[key] = source_of(asked.model).open_model(asked.model, report)
        return self._open[key]

    def record(self, query: Query, report: Progress) -> AttentionRecord:
        """The answer to a query, computed only if it is not there."""
        return self._cached(query, report)

    def trace(self, query: Query, report: Progress) -> Trace:
        """The answer to its TraceQuery, computed only if it is not there."""
        return self._cached(TraceQuery(query), report)

    def _cached(self, question: Query | TraceQuery, report: Progress) -> Any:
        answer = self.cache.get(question, MISSING)
        if answer is MISSING:
            answer = question.answer(self, report)
            self.cache.put(question, answer)
        return answer


def delay_of(question: Any) -> float:
    """Seconds after which a question is due: 1/1000 for each character of its text, about what a pass takes on two
    cores."""
    return len(getattr(getattr(question, "query", question), "text", "")) / 1000


cache = Cache(LIMITS.cache_bytes)
models = CachedModels(LIMITS.models_bytes, cache)
desk = JobQueue(lambda question, report: question.answer(models, report), cache, delay_of)
