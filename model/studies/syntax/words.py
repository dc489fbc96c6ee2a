"""Where the words of a tree stand: in the sentence's own text by their characters, and among a model's tokens."""
import numpy as np

from model.core.record import Tokens
from model.core.types import Span
from model.studies.syntax.treebank import Sentence


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
