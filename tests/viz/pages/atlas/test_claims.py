"""What the atlas says of a head is chosen by the printed digits; each branch with a planted table and its neighbour."""
import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from pandas import DataFrame

from model.studies.pattern_chance import PatternChance
from viz.pages.atlas.claims import behaviour_sentence, best_fit, corpus_sentence


@dataclass
class Planted:
    rows: DataFrame

    def of_head(self, layer, head):
        return self.rows


def planted(**fits: float) -> Planted:
    return Planted(DataFrame({"mean": fits.values(), "sd": [0.1] * len(fits), "n": [200] * len(fits)},
                             index=[f"fit_{name}" for name in fits]))


CHANCE = PatternChance({"previous": 0.2, "first": 0.66, "even": 1.0}, 0.60, 14)


@pytest.mark.parametrize("fits, wanted", [
    ({"previous": 0.61, "first": 0.5}, "Rows of equal weights would fit it with 0.20"),
    ({"previous": 0.604}, "so this is no habit"),        # 0.60 in the digits that are printed: not above luck
    ({"previous": 0.606}, "one time in twenty (a text"),
    ({"previous": 0.3}, "only with **0.30**"),
    ({"first": 0.65}, "but rows of equal weights fit it with 0.66"),
    ({"first": 0.67}, "Rows of equal weights would fit it with 0.66"),
    ({"next": 0.7}, "cannot be held against this pattern"), ({"next": 0.604}, "so this is no habit"),
    ({"even": 0.9, "previous": 0.7}, "no simple pattern describes it better")])
def test_a_behaviour_is_held_against_even_rows_and_luck(fits, wanted):
    said = behaviour_sentence(planted(**fits), (3, 1), CHANCE)
    assert wanted in said and said.startswith("3·1 fits")
    assert ("no habit" in said) == (("0.30" in wanted) or ("no habit" in wanted) or ("but rows" in wanted))


@pytest.mark.parametrize("second, shared", [(0.6951, True), (0.7049, True), (0.694, False), (0.1, False)])
def test_a_pattern_that_prints_the_same_fit_shares_the_place(second, shared):
    said = behaviour_sentence(planted(previous=0.7, first=second, same=float("nan")), (3, 1), CHANCE)
    assert (re.search(r"In these digits it fits \*the (first|previous) token\* as well\.$", said) is not None) == shared
    assert "nan" not in said


def test_without_its_model_chance_is_not_told_and_a_head_without_fits_says_so():
    assert "is not known here" in behaviour_sentence(planted(previous=0.9), (0, 0), None)
    assert behaviour_sentence(planted(previous=float("nan")), (0, 0), CHANCE).startswith("0·0 fits no pattern")
    assert best_fit(planted(previous=0.2, first=0.4), (0, 0))[0] == "first"


def test_the_corpus_is_named_with_its_counts():
    about = {"files": [{"name": "a*b.txt"}], "texts": 1, "tokens": 12, "cut": 1}
    said = corpus_sentence(SimpleNamespace(about=about, heads=((0, 0),)))
    assert said == "1 head over 1 text of 12 tokens: a\\*b\\.txt. 1 text was longer than the model reads, and cut."
