"""What the heads of one snapshot do, in the terms of its task: the numbers of a film (model/training/film.py)."""
import random

import numpy as np

from model.core.query import Kind
from model.core.types import HeadId, KindHeadId
from model.scratch import grammar, head_analysis
from model.scratch.models import ScratchModel, Translator
from model.scratch.tasks import resolver, translator
from model.studies import induction

DRAWS = 8    # random repeats that an induction model is put to
TWINS = 50   # pairs of sentences that the others are put to, of nouns that were not trained on

Found = tuple[tuple[str, ...], tuple[KindHeadId, ...], np.ndarray]   # names, heads, float32 (trait, head)


def score_heads(opened: ScratchModel) -> Found:
    """The traits of an open model."""
    if opened.card.id.startswith("induction"):
        found = induction.mean_scores(opened, draws=DRAWS)
        return ("prefix", "previous"), tuple((Kind.CAUSAL, *head)
                                             for head in found.heads), np.stack([found.prefix, found.previous])
    rng = random.Random("film")
    sentences = [sentence for _ in range(TWINS) for sentence in grammar.twins(rng, "validation")]
    encode = translator.batch if isinstance(opened, Translator) else resolver.batch
    rows = {Kind.SELF: lambda sentence: sentence.pronoun}
    if isinstance(opened, Translator):
        # the row that produces il or elle: the target is shifted by one
        rows[Kind.CROSS] = lambda sentence: sentence.french_pronoun
    heads = [each for kind, row in rows.items()
             for each in head_analysis.tabulate_pointing(head_analysis.noun_weights(opened.transformer, sentences, encode, kind, row),
                                                sentences, kind)]
    return ("both",), tuple((each.kind, each.layer, each.head)
                            for each in heads), np.array([[each.both for each in heads]], np.float32)


def copying(opened: ScratchModel, heads: tuple[HeadId, ...]) -> np.ndarray:
    """The copying score of each head (layer, head) of a decoder, float64 (head)."""
    return np.array([head_analysis.copying(opened.transformer, layer, head) for layer, head in heads])
