"""Cases for the test of "it": a sentence, a pronoun, the noun it stands for and one it does not; read from CSV and
paired into twins."""
import csv
import functools
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from model.core.assets import ASSETS
from model.core.limits import LIMITS
from model.core.query import UserError
from model.core.types import Span

FOLDER = ASSETS / "cases"
REQUIRED = ("sentence", "pronoun", "correct", "wrong")
SHARED = 1 / 2         # twins have at least this share of their words in common, at the start and at the end


@dataclass(frozen=True)
class Case:
    """One sentence with its question. Spans are characters of the sentence."""

    sentence: str      # as a model reads it
    pronoun: Span      # that is asked about
    correct: Span      # the noun that it stands for
    wrong: Span        # one that it does not
    frame: str = ""    # the situation; intervals and halves are drawn by it
    pair: str = ""     # shared by twins
    answer: str = ""   # the right word after the pronoun's place, for sets that ask for a word (agreement)
    other: str = ""    # the wrong word there

    def word(self, name: str) -> str:
        """The words of the span of this name: pronoun, correct or wrong."""
        return self.sentence[slice(*getattr(self, name))]


def occurrences(sentence: str, words: str) -> list[Span]:
    """Where these words stand in the sentence as whole words; as they are written if they occur so, else whatever their
    case."""
    pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
    exact = [match.span() for match in re.finditer(pattern, sentence)]
    return exact or [match.span() for match in re.finditer(pattern, sentence, re.IGNORECASE)]


def make_case(sentence: str, pronoun: str, correct: str, wrong: str, start: int | None = None, **more: str) -> Case:
    """A case from its words. Raises UserError where one of them is not in the sentence.

    A pronoun that occurs more than once is the first one behind both candidates, unless `start` says which; a candidate
    that occurs more than once is the last one before the pronoun. """
    candidates = [_found(sentence, each, name) for name, each in (("correct", correct), ("wrong", wrong))]
    asked = _pronoun(sentence, pronoun, start, candidates)
    chosen = [next((span for span in reversed(spans) if span[1] <= asked[0]), spans[0]) for spans in candidates]
    if chosen[0] == chosen[1] or asked in chosen:
        raise UserError(f"Pronoun, correct and wrong must be three places of the sentence {_short(sentence)}, but two "
                        f"of them are the same; give two nouns that differ.")
    return Case(sentence, asked, chosen[0], chosen[1], **more)


def _found(sentence: str, words: str, name: str) -> list[Span]:
    spans = occurrences(sentence, words) if words.strip() else []
    if not spans:
        raise UserError(f"The {name} word {words!r} is not in the sentence {_short(sentence)}; write it as it stands "
                        f"there.")
    return spans


def _pronoun(sentence: str, pronoun: str, start: int | None, candidates: list[list[Span]]) -> Span:
    if start is not None:
        if sentence[start:start + len(pronoun)].lower() != pronoun.lower() or not pronoun:
            raise UserError(f"There is no {pronoun!r} at character {start} of {_short(sentence)}; pronoun_start counts "
                            f"characters from 0.")
        return start, start + len(pronoun)
    spans = _found(sentence, pronoun, "pronoun")
    behind = max(candidate[0][1] for candidate in candidates)
    return next((span for span in spans if span[0] >= behind), spans[-1])


def _short(sentence: str) -> str:
    return repr(sentence if len(sentence) < 80 else sentence[:77] + "…")


class CaseFile(NamedTuple):
    """What a CSV holds."""

    cases: tuple[Case, ...]
    left_out: tuple[str, ...]   # a sentence on each row that cannot be used


def read_csv(text: str, name: str = "the file") -> CaseFile:
    """The cases of a CSV text with the columns sentence, pronoun, correct, wrong, and optionally pronoun_start, frame,
    pair, answer, other. A row that cannot be used is left out, and named as a spreadsheet counts, the header being row
    1.

    Raises UserError for a file in which no row can be used.
    """
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    missing = [each for each in REQUIRED if each not in (rows.fieldnames or ())]
    if missing:
        raise UserError(f"{name} has no column {', '.join(missing)}; its first row must name at least "
                        f"{', '.join(REQUIRED)}.")
    cases: list[Case] = []
    left_out: list[str] = []
    for number, row in enumerate(rows, 2):
        LIMITS.refuse_above("case_rows", len(cases) + len(left_out) + 1, name, "cut it into several files")
        try:
            cases.append(_case({key: (value or "").strip() if key != "sentence" else value or ""
                                for key, value in row.items() if key}))
        except UserError as error:
            left_out.append(f"Row {number} of {name}: {error}")
    if not cases:
        raise UserError(left_out[0] if left_out else f"{name} has no row below its header; give at least one sentence.")
    return CaseFile(pair_twins(cases), tuple(left_out))


def _case(row: dict[str, str]) -> Case:
    start = row.get("pronoun_start") or None
    if start is not None and not re.fullmatch(r"\d{1,9}(\.0+)?", start, re.ASCII):
        raise UserError(f"pronoun_start is {start!r}, but should be a whole number of characters from 0, or empty.")
    more = {key: row.get(key, "") for key in ("frame", "pair", "answer", "other")}
    sentence, pronoun, correct, wrong = (row[key] for key in REQUIRED)
    return make_case(sentence, pronoun, correct, wrong, None if start is None else int(float(start)), **more)


def pair_twins(cases: list[Case]) -> tuple[Case, ...]:
    """The cases with a pair each. Those without one are twins where right and wrong change places and most words are
    the same; any other is alone."""
    from dataclasses import replace

    pairs = [case.pair for case in cases]
    waiting: dict[tuple, list[int]] = {}
    for number, case in enumerate(cases):
        if pairs[number]:
            continue
        pairs[number] = f"case {number}"
        words = case.word("pronoun").lower(), case.frame
        twins = waiting.get((*words, case.word("wrong").lower(), case.word("correct").lower()), [])
        twin = next((each for each in twins if _shared(cases[each].sentence, case.sentence) >= SHARED), None)
        if twin is not None:
            twins.remove(twin)
            pairs[number] = pairs[twin]
        else:
            waiting.setdefault((*words, case.word("correct").lower(), case.word("wrong").lower()), []).append(number)
    return tuple(replace(case, pair=pair) for case, pair in zip(cases, pairs))


def _shared(one: str, other: str) -> float:
    """The share of words that two sentences have in common at their start and at their end."""
    a, b = one.split(), other.split()
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    end = next((i for i in range(shorter - start) if a[-1 - i] != b[-1 - i]), shorter - start)
    return (start + end) / max(len(a), len(b))


@functools.cache
def shipped_cases(name: str) -> tuple[Case, ...]:
    """One of the sets of assets/cases: coreference or agreement."""
    return read_csv((FOLDER / f"{name}.csv").read_text(encoding="utf-8"), f"{name}.csv").cases


def read_file(path: str | Path) -> CaseFile:
    """The cases of a CSV file in UTF-8. Raises UserError if it cannot be read."""
    try:
        return read_bytes(Path(path).read_bytes(), Path(path).name)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}); give a CSV file.") from None


def read_bytes(content: bytes, name: str) -> CaseFile:
    """The cases of a CSV file's bytes. Raises UserError if they are not UTF-8 or not such a file."""
    try:
        return read_csv(content.decode("utf-8"), name)
    except UnicodeDecodeError:
        raise UserError(f"{name} is not text in UTF-8; save it as CSV in UTF-8.") from None
    except csv.Error as error:
        raise UserError(f"{name} is not a CSV file that can be read ({error}); save it as CSV in UTF-8.") from None
