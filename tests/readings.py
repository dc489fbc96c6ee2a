"""A second reading of the sentences that code chooses: ten sentences, every head's weights computed anew, and numbers
as they are printed. Nothing here, and nothing that uses it, asks the condition that chose the sentence."""
import functools
import random
from typing import Any

import numpy as np

from model.ask import sources
from model.core.query import Kind
from model.core.record import AttentionRecord
from model.scratch import grammar
from model.studies.coreference.cases import shipped_cases

MODELS = ("minilm", "resolver-narrow", "resolver-wide")
SECONDS = 120    # that any answer may take
NUMBER = r"\*{0,2}([-−]?\d\.\d+(?:e-\d+)?)\*{0,2}"


def ask(question: Any) -> Any:
    """The answer to any question."""
    return sources.ask(question).result(SECONDS)


@functools.cache
def record_of(model: str, text: str) -> AttentionRecord:
    """What a model answers to a text, once."""
    return ask(sources.open_query(model, text))


@functools.cache
def sentences(model: str) -> list[tuple[str, str, tuple[str, str, str], tuple[str, str]]]:
    """(sentence, twin, (pronoun, right, wrong), (word, the twin's)) of ten sentences: five twins from both sides."""
    chosen, cases = {}, shipped_cases("coreference")
    for one, other in zip(cases[::2], cases[1::2], strict=True):
        texts = one.sentence.split(), other.sentence.split()
        changed = [(a.strip("."), b.strip(".")) for a, b in zip(*texts) if a != b]
        if len(texts[0]) == len(texts[1]) and len(changed) == 1 and one.frame not in chosen:
            words = tuple(map(one.word, ("pronoun", "correct", "wrong")))
            chosen[one.frame] = (one.sentence, other.sentence, words, changed[0])
    if model == "minilm":
        pairs = list(chosen.values())[:5]
    else:
        drawn = random.Random(model)
        pairs = []
        while len(pairs) < 5:
            a, b = grammar.twins(drawn, "test")
            nouns = tuple(a.english[place] for place in a.places)
            if a.english[a.pronoun] == "it" and len(set(a.english)) > len(a.english) - 3:
                pairs.append((" ".join(a.english), " ".join(b.english), ("it", *nouns),
                              (a.english[a.adjective], b.english[b.adjective])))
    return [side for text, twin, (it, right, wrong), (old, new) in pairs
            for side in ((text, twin, (it, right, wrong), (old, new)), (twin, text, (it, wrong, right), (new, old)))]


def whole_rows(record: AttentionRecord, row: int) -> np.ndarray:
    """softmax(q kᵀ · scale) of one row, float64 (layer, head, key)."""
    found = []
    for layer in record.maps[0].layers:
        scores = np.einsum("hd,hkd->hk", np.float64(layer.query)[:, row], np.float64(layer.key)) * layer.scale
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found.append(weights / weights.sum(1, keepdims=True))
    return np.array(found)


def matrices(record: AttentionRecord, kind: Kind | None = None) -> np.ndarray:
    """softmax(q kᵀ · scale) of every head of a kind, or of the first, float64 (layer, head, query, key), of a model
    whose tokens see all others, or, where it reads left to right, those before them."""
    found, attention_map = [], record.maps[0] if kind is None else record[kind]
    for layer in attention_map.layers:
        scores = np.einsum("hqd,hkd->hqk", np.float64(layer.query), np.float64(layer.key)) * layer.scale
        if attention_map.kind == "causal":
            scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
        weights = np.exp(scores - scores.max(2, keepdims=True))
        found.append(weights / weights.sum(2, keepdims=True))
    return np.array(found)


def digits(weight: float) -> str:
    """Three decimals, or two digits of what would be 0.000; written here anew."""
    return f"{weight:.3f}" if weight >= 0.0005 else f"{weight:.1e}"


def spellings(weight: float) -> set[str]:
    """The digits of this number and of those that differ from it by rounding in float32: two only at an edge."""
    return {digits(weight * change) for change in (1 - 1e-5, 1, 1 + 1e-5)}


def near(text: str, weight: float) -> bool:
    """Whether these are the printed digits of this number."""
    return text in spellings(weight) or (weight < 1e-6 and abs(float(text) - weight) < 1e-6)


def printed(number: float, form: str) -> set[str]:
    """The same for a number that is printed in another form, with a true minus and none before a zero."""
    return {f"{number + change:z{form}}".replace("-", "−") for change in (-1e-6, 0, 1e-6)}
