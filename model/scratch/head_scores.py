"""What the heads of one snapshot do at its task: the numbers of a film (model/training/processes.py)."""
import random
from typing import Any

import numpy as np

from model.core.query import Kind
from model.core.types import HeadId, KindHeadId
from model.scratch import grammar, head_analysis
from model.scratch.pictures import marked_heads
from model.scratch.reader import Reader
from model.scratch.tasks import marked_digit, resolver, translator
from model.studies import induction

DRAWS = 8    # random repeats that an induction model is put to
MARKED_TWINS = 50    # pairs of canvases
TWINS = 50   # pairs of sentences that the others are put to, of nouns that were not trained on

Scores = tuple[tuple[str, ...], tuple[KindHeadId, ...], np.ndarray]   # names, heads, float32 (name, head)


def score_heads(opened: Any) -> Scores:
    """The scores of every head of an open model of ours."""
    if opened.card.id.startswith("marked-digit"):
        return _marked(opened)
    if opened.card.id.startswith("induction"):
        scores = induction.mean_scores(opened, draws=DRAWS)
        heads = tuple((Kind.CAUSAL, *head) for head in scores.heads)
        return ("prefix", "previous"), heads, np.stack([scores.prefix, scores.previous])
    rng = random.Random("film")
    sentences = [sentence for _ in range(TWINS) for sentence in grammar.twins(rng, "validation")]
    encode = translator.batch if opened.says == "target" else resolver.batch
    rows = {Kind.SELF: lambda sentence: sentence.pronoun}
    if opened.says == "target":
        # the row that produces il or elle: the target is shifted by one
        rows[Kind.CROSS] = lambda sentence: sentence.french_pronoun
    pointing = []
    for kind, row in rows.items():
        weights = head_analysis.noun_weights(opened.transformer, sentences, encode, kind, row)
        pointing += head_analysis.tabulate_pointing(weights, sentences, kind)
    return (("both",), tuple((head.kind, head.layer, head.head) for head in pointing),
            np.array([[head.both for head in pointing]], np.float32))


def _marked(opened: Any) -> Scores:
    """How often [CLS] looks most at the marked digit in both twins, and how often the answer becomes the twin's when
    the patches with digits get from the head what they get in the twin."""
    model, canvases = opened.transformer, marked_digit.test_canvases("validation", 2 * MARKED_TWINS)
    fetching = {(each.layer, each.head): each.both for each in marked_heads.looking(model, canvases)
                if each.role == "digit"}
    values = [[fetching[head] for head in fetching],
              [marked_heads.turned(model, canvases, *head, "digits") for head in fetching]]
    return ("fetch", "mark"), tuple((Kind.SELF, *head) for head in fetching), np.array(values, np.float32)


def copying(opened: Reader, heads: tuple[HeadId, ...]) -> np.ndarray:
    """The copying score of each head (layer, head) of a decoder, float64 (head)."""
    return np.array([head_analysis.copying(opened.transformer, layer, head) for layer, head in heads])
