"""The shipped sentences that claims are measured on."""
from collections.abc import Iterator

from model.core.models import NamesModel, OpenModel
from model.core.query import Query
from model.core.record import AttentionRecord
from model.core.types import Progress, quiet
from model.studies.claims.definitions import PASSAGE
from model.studies.faithfulness import cases


def sentences() -> tuple[str, ...]:
    """Sixty sentences of everyday English (assets/cases/explain.csv), one subject each."""
    return tuple(text.text for text in cases.texts("sentences"))


def passages() -> tuple[str, ...]:
    """Passages of about a hundred tokens: those sentences and their paraphrases, PASSAGE of them joined each time."""
    both = [part for text in cases.texts("sentences") for part in (text.text, text.other)]
    return tuple(" ".join(both[start:start + PASSAGE]) for start in range(0, len(both), PASSAGE))


def records(asked: NamesModel, opened: OpenModel, report: Progress) -> Iterator[tuple[int, str, AttentionRecord]]:
    """(number, sentence, record) of every sentence. `report` may end it."""
    texts = sentences()
    for number, text in enumerate(texts):
        report(number / len(texts), f"sentence {number + 1} of {len(texts)}")
        yield number, text, opened.record(Query(asked.model, asked.revision, text), quiet)
