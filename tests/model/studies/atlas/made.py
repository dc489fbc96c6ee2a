"""Create summaries of fabricated records, for tests that need no model."""
from functools import cache

from clearhead.model.core.query import Kind
from clearhead.model.studies.atlas.measured import measure_text
from clearhead.model.studies.atlas.summary import ReadText, Summary, Text, digest_of, merge, summarise
from clearhead.model.studies.syntax import Sentence, Word, choices_of, counts_of
from tests import fabricate

# fabricated tokens cover characters 3i and 3i + 1
TEXT = "aa bb cc dd ee"
SENTENCE = Sentence(1, TEXT, tuple(Word(form, head, "obj" if head == 2 else "det") for form, head in
                                   zip(TEXT.split(), (2, 0, 2, 5, 2), strict=True)), ())
COUNTS = counts_of(choices_of([(fabricate.record(TEXT.split(), Kind.SELF, special=[], text=TEXT), SENTENCE, 1)]))

SAID = {"format": 1, "model": "fake", "revision": "0", "corpus": "c" * 64, "files": [], "field": "text",
        "limit": None, "shard": 4, "versions": {}, "asked_kind": None}


@cache
def read(number: int, kind: Kind = Kind.SELF, text: str = "") -> ReadText:
    """Create a text of 4 to 9 tokens that is determined by its number. Equal texts have equal measurements."""
    text = text or f"text {number}"
    seed = digest_of(text) % 1000
    record = fabricate.record(4 + seed % 6, kind, seed=seed)
    tokens = record[kind].queries
    return ReadText(Text(number, digest_of(text), "made.txt", number + 1, text, tokens.texts),
                    measure_text(record[kind]), len(tokens), number % 3 == 0, "Fabricated", "verified")


def summary(numbers: range, kind: Kind = Kind.SELF, shard: int = 4) -> Summary:
    """Summarise these texts, shard by shard."""
    total = None
    for begin in range(numbers.start, numbers.stop, shard):
        part = summarise(kind, [read(number, kind) for number in range(begin, min(begin + shard, numbers.stop))])
        total = part if total is None else merge(total, part)
    assert total is not None
    return total
