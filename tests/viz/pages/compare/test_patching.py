"""What the page Compare says of patched heads, and writes into its file, is what the numbers are."""
import csv
import io
from dataclasses import replace

import numpy as np

from model.core.displayed import displayed_head
from model.core.view import View
from model.studies.patching import PatchEffects
from tests import fabricate
from viz.export.comparison import as_csv
from viz.pages.compare.patching import patching_claims

FOUND = PatchEffects(("animal", "street"), False, 7, -10.0, 10.0, ((0, 0), (0, 1), (1, 0), (1, 1)),
                     np.array([8.0, -9.0, 0.5, -10.5]), {0: 9.0, 1: -2.0}, 10.0)


def test_heads_and_layers_that_turn_the_answer_are_named_with_their_share():
    said = patching_claims(FOUND)
    assert said[0].startswith("2 of 4 heads turn the answer to *street* alone") and said[0].endswith("**0·0** (90%), "
                                                                                                     "**1·0** (52%).")
    assert said[1] == "All heads of one layer together turn it in layer: 0."


def test_where_no_head_and_no_layer_turns_it_that_is_said():
    said = patching_claims(replace(FOUND, heads=((0, 0), (1, 0)), patched=np.array([-8.0, -9.0]),
                                   layers={0: -8.0, 1: -9.0}))
    assert said[0] == "No head of 2 turns the answer alone; **0·0** comes farthest, 10% of the way."
    assert said[1].startswith("Not even all heads")


def test_a_sentence_vector_is_never_turned():
    said = patching_claims(replace(FOUND, words=None, place=None, plain=0.8, other=1.0,
                                   heads=((0, 0), (1, 0)), patched=np.array([0.85, 0.81])))
    assert said[0] == "Of 2 heads **0·0** alone comes farthest, 25% of the way." and len(said) == 2


def test_the_file_holds_every_pair_with_both_weights_and_their_difference():
    one, other = (displayed_head(fabricate.record(seed=seed), View(layer=1, head=2)) for seed in (0, 7))
    gone = one.weights.copy()
    gone[3] = np.nan
    shown = replace(one, weights=gone), other, replace(one, weights=other.weights - gone)
    lines = list(csv.DictReader(io.StringIO(as_csv(shown).decode(), newline="")))
    assert len(lines) == 49 and (lines[9]["from"], lines[9]["to"]) == ("t1", "t2")
    numbers = np.array([[float(line[name] or "nan") for name in ("first", "second", "difference")] for line in lines])
    np.testing.assert_allclose(numbers, np.column_stack([each.weights.ravel() for each in shown]), rtol=1e-5)
