"""Sentences with their trees from a CoNLL-U file (universaldependencies.org/format.html), one after the other and never
all at once unless somebody keeps them.

Read are ID, FORM, HEAD and DEPREL, the comment `# text =` and the lines of multiword tokens; empty nodes (5.1) and
enhanced dependencies are passed over. Whatever cannot be read is one sentence that names the file and the line.
"""
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from model.core.files import ASSETS
from model.core.limits import LIMITS
from model.core.query import UserError, quoted
from model.core.record import Tokens
from model.core.types import Span
from model.studies.corpus import lines

SUFFIX = ".conllu"
COLUMNS = 10
TEXT = re.compile(r"#\s*text\s*=(.*)")
WORD, RANGE, EMPTY = (re.compile(pattern) for pattern in ("[0-9]{1,6}", "([0-9]{1,6})-([0-9]{1,6})",
                                                          r"[0-9]{1,6}\.[0-9]{1,6}"))


@dataclass(frozen=True)
class Word:
    """A word of a tree."""

    form: str       # as the treebank writes it
    head: int       # the number of the word it depends on, from 1; 0 for a root
    relation: str   # to that word, without subtype: nsubj for nsubj:pass


@dataclass(frozen=True)
class Multiword:
    """Words that the text writes as one, such as French "du" for "de" and "le"."""

    first: int   # word, from 1
    last: int    # word, this one included
    form: str    # as the text writes it


@dataclass(frozen=True)
class Sentence:
    """A sentence and its tree."""

    line: int                           # at which it begins in the file, from 1
    text: str                           # what a model reads
    words: tuple[Word, ...]             # number 1 is the first
    multiwords: tuple[Multiword, ...]   # in their order


@dataclass
class _Draft:
    """A sentence while its lines are read."""

    name: str                                   # of the file
    line: int                                   # where it begins
    text: str | None = None                     # of its comment
    words: list[Word] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)   # of each word
    multiwords: list[Multiword] = field(default_factory=list)

    def refusal(self, line: int, sentence: str) -> UserError:
        """The error at a line."""
        return UserError(f"{self.name}, line {line}: {sentence}")


def sentences(file: BinaryIO, name: str) -> Iterator[Sentence]:
    """Every sentence of a CoNLL-U file. Raises UserError with the line, at the latest at the end for a file without a
    sentence."""
    draft, count = None, 0
    for number, line in lines(file, name, "write a word a line"):
        line = line.rstrip("\r\n")
        if line.strip():
            draft = draft or _Draft(name, number)
            _read_line(draft, number, line)
        elif draft is not None:
            count += bool(draft.words)
            yield from _finished(draft)
            draft = None
    if draft is not None:
        count += bool(draft.words)
        yield from _finished(draft)
    if not count:
        raise UserError(f"{name} has no sentence in it; give a file in CoNLL-U, a word a line.")


def read_treebank(file: BinaryIO, name: str) -> tuple[Sentence, ...]:
    """All sentences of a file whose words are within the limit. Raises UserError as `sentences` does."""
    kept, words = [], 0
    for sentence in sentences(file, name):
        words += len(sentence.words)
        LIMITS.refuse_above("treebank_words", words, name, "cut it into several files")
        kept.append(sentence)
    return tuple(kept)


@functools.cache
def shipped_treebank(language: str, name: str = "syntax") -> tuple[Sentence, ...]:
    """Sentences of assets/cases in this language, en or zh, written and annotated for this project; name: syntax, or
    grammar, which is in English only."""
    path = ASSETS / "cases" / f"{name}-{language}{SUFFIX}"
    with path.open("rb") as file:
        return read_treebank(file, path.name)


def _read_line(draft: _Draft, number: int, line: str) -> None:
    if line.startswith("#"):
        text = TEXT.fullmatch(line)
        if text:
            draft.text = text[1].strip()
            LIMITS.refuse_above("corpus_text", len(draft.text), f"{draft.name}, line {number}: the text", "split it")
        return
    columns = line.split("\t")
    if len(columns) != COLUMNS:
        raise draft.refusal(number, f"there are {len(columns)} columns and CoNLL-U has {COLUMNS}; part them by tabs.")
    identity, form, head, relation = columns[0], columns[1], columns[6], columns[7]
    span = RANGE.fullmatch(identity)
    if span:
        _add_multiword(draft, number, Multiword(int(span[1]), int(span[2]), form))
    elif not EMPTY.fullmatch(identity):
        if not WORD.fullmatch(identity) or int(identity) != len(draft.words) + 1:
            raise draft.refusal(number, f"the word's number is {quoted(identity)} and {len(draft.words) + 1} comes "
                                        f"next; number the words from 1.")
        _add_word(draft, number, form, head, relation)


def _add_multiword(draft: _Draft, number: int, multiword: Multiword) -> None:
    before = draft.multiwords[-1].last if draft.multiwords else 0
    if multiword.first != len(draft.words) + 1 or multiword.last < multiword.first or multiword.first <= before:
        raise draft.refusal(number, f"the token {multiword.first}-{multiword.last} does not begin at the next word, "
                                    f"{len(draft.words) + 1}; write it before its words.")
    if not multiword.form:
        raise draft.refusal(number, "the token has no form; write it in the second column.")
    draft.multiwords.append(multiword)


def _add_word(draft: _Draft, number: int, form: str, head: str, relation: str) -> None:
    if not form:
        raise draft.refusal(number, "the word has no form; write it in the second column.")
    if not WORD.fullmatch(head):
        raise draft.refusal(number, f"the head is {quoted(head)} and must be a word's number, or 0 for the root; "
                                    f"annotate the word.")
    name = relation.split(":")[0]
    if name in ("", "_"):
        raise draft.refusal(number, f"the relation is {quoted(relation)}; name it in the eighth column.")
    draft.words.append(Word(form, int(head), name))
    draft.lines.append(number)
    LIMITS.refuse_above("sentence_words", len(draft.words), f"{draft.name}, line {number}: the sentence", "split it")


def _finished(draft: _Draft) -> Iterator[Sentence]:
    """The sentence, if there is one: comments alone are none. Raises UserError unless it has a text and its words are
    trees."""
    if not draft.words:
        if draft.multiwords:
            raise draft.refusal(draft.line, "there is a token without its words; write them below it.")
        return
    if not draft.text:
        raise draft.refusal(draft.line, "the sentence has no text; write it above the words as # text = …")
    if draft.multiwords and draft.multiwords[-1].last > len(draft.words):
        raise draft.refusal(draft.lines[-1], f"the token before ends at word {draft.multiwords[-1].last}, but the "
                                             f"sentence has {len(draft.words)}; write all its words.")
    for place, (word, line) in enumerate(zip(draft.words, draft.lines, strict=True), 1):
        if word.head > len(draft.words) or word.head == place:
            raise draft.refusal(line, f"the head of word {place} is {word.head}; give another word of the sentence, 1 "
                                      f"to {len(draft.words)}, or 0 for the root.")
    _refuse_circles(draft)
    yield Sentence(draft.line, draft.text, tuple(draft.words), tuple(draft.multiwords))


def _refuse_circles(draft: _Draft) -> None:
    """Raises UserError, with its line, for a word from which no way leads to a root."""
    rooted = {0}
    for place in range(1, len(draft.words) + 1):
        way, here = [], place
        while here not in rooted:
            way.append(here)
            here = draft.words[here - 1].head
            if len(way) > len(draft.words):
                raise draft.refusal(draft.lines[place - 1], f"the heads above word {place} lead in a circle; every "
                                                            f"word needs a way to the root.")
        rooted.update(way)


def spans_of(sentence: Sentence) -> tuple[Span | None, ...] | None:
    """Where each word stands in the text. None for a word of a multiword token whose forms, one behind the other, are
    not what the text writes; None for the whole where a form is not found behind the one before it."""
    multiwords = {each.first: each for each in sentence.multiwords}
    spans: list[Span | None] = []
    end = 0
    while len(spans) < len(sentence.words):
        multiword = multiwords.get(len(spans) + 1)
        last = multiword.last if multiword else len(spans) + 1
        forms = [word.form for word in sentence.words[len(spans):last]]
        surface = multiword.form if multiword else forms[0]
        start = sentence.text.find(surface, end)
        if start < 0:
            return None
        spans += _parts(forms, start) if "".join(forms) == surface else [None] * len(forms)
        end = start + len(surface)
    return tuple(spans)


def _parts(forms: list[str], start: int) -> list[Span | None]:
    parts: list[Span | None] = []
    for form in forms:
        parts.append((start, start + len(form)))
        start += len(form)
    return parts


def pieces_of(tokens: Tokens, spans: tuple[Span | None, ...]) -> np.ndarray:
    """Which tokens are pieces of which word, bool (word, token): those of the text that share a character with it. A
    token over two words is a piece of both; special tokens are pieces of none."""
    starts, ends = np.array(tokens.spans).T
    of_text = (np.array(tokens.segments) == 0) & ~np.array(tokens.special)
    pieces = np.zeros((len(spans), len(tokens)), bool)
    for word, span in enumerate(spans):
        if span is not None:
            pieces[word] = of_text & (starts < span[1]) & (span[0] < ends)
    return pieces
