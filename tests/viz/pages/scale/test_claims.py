"""The sentences about what the softmax makes of the rows, read again and held against rows drawn anew."""
import re

import numpy as np
import pytest
from scipy import special, stats

from model.lessons.sqrt_dk import DRAWS, KINDS, WIDTHS, Survey, survey
from viz.pages.scale import KEYS
from viz.pages.scale.claims import crossing, softmax_claims

NUMBER = r"(\d[\d,]*\.?\d*(?:e-?\d+)?)"
PLACES = (WIDTHS[0], 16, 64, 512, WIDTHS[-1])


def read(sentence: str) -> list[float]:
    """Its numbers."""
    return [float(number.replace(",", "")) for number in re.findall(NUMBER, sentence)]


def medians(d_k: int, n_keys: int) -> dict[str, dict[str, float]]:
    """By another route than the page's: independent rows, scipy's softmax and entropy, whole Jacobians."""
    rng, found = np.random.default_rng(7), {"entropy": {}, "slope": {}, "gradient": {}}
    keys, queries = rng.standard_normal((300, n_keys, d_k)), rng.standard_normal((300, d_k))
    for which, divisor in (("plain", 1.0), ("scaled", d_k**0.5)):
        weights = [special.softmax(key @ query / divisor) for key, query in zip(keys, queries, strict=True)]
        slopes = [np.diag(row) - np.outer(row, row) for row in weights]
        found["entropy"][which] = np.median([stats.entropy(row, base=2) for row in weights])
        found["slope"][which] = np.median([np.linalg.norm(slope) for slope in slopes])
        found["gradient"][which] = np.median([np.linalg.norm(slope @ key / divisor)
                                              for slope, key in zip(slopes, keys, strict=True)])
    return found


@pytest.mark.parametrize("n_keys", [KEYS[0], KEYS[-1]])
@pytest.mark.parametrize("d_k", PLACES)
def test_what_is_said_at_the_ends_and_in_between_is_true_of_other_rows(d_k, n_keys):
    said, wanted = softmax_claims(survey(n_keys, 0, "normal"), d_k, n_keys), medians(d_k, n_keys)
    ratio = {name: which["plain"] / which["scaled"] for name, which in wanted.items()}
    for name, larger, smaller in (("slope", "**larger**", "**smaller**"), ("gradient", "**more**", "**less**")):
        sentence = said[f"{name}_says"]
        assert (larger in sentence) <= (ratio[name] > 1) and (smaller in sentence) <= (ratio[name] < 1)
        if "about" in sentence:
            assert 0.6 < ratio[name] < 1.6
    assert ("nearly all its weight is on one key" in said["entropy_says"]) == (wanted["entropy"]["plain"] < 0.5)
    assert ("changes nothing" in said["entropy_says"]) == (d_k == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_agrees_with_its_own_numbers(kind):
    for n_keys in KEYS:
        drawn = survey(n_keys, 1, kind)
        for d_k in WIDTHS:
            said = softmax_claims(drawn, d_k, n_keys)
            for name in ("slope_says", "gradient_says"):
                plain, scaled = read(said[name])[:2]
                assert plain > scaled or not ("larger" in said[name] or "**more**" in said[name])
                assert plain < scaled or not ("smaller" in said[name] or "**less**" in said[name])
                assert 0.7 < plain / scaled < 1.4 or "**about" not in said[name]
            if "so that the mean" in said["gradient_says"]:
                assert read(said["gradient_says"])[-1] > 2 * read(said["gradient_says"])[0]


def planted(slope: float, gradient: float, entropy: float) -> Survey:
    """What is not divided is this, at every width; what is divided is 1."""
    def both(plain: float) -> dict[str, np.ndarray]:
        return {"plain": np.full((len(WIDTHS), DRAWS), plain), "scaled": np.ones((len(WIDTHS), DRAWS))}

    return Survey(np.ones((len(WIDTHS), DRAWS)), both(entropy), both(slope), both(gradient))


@pytest.mark.parametrize(("value", "words"), [(1.3, "**larger**"), (1.2, "**about the same**"),
                                              (0.81, "**about the same**"), (0.79, "**smaller**")])
def test_each_case_of_the_slope_and_its_neighbour(value, words):
    assert words in softmax_claims(planted(value, 1, 1), 64, 64)["slope_says"]


@pytest.mark.parametrize(("value", "words"), [(1.3, "**more**"), (1.2, "**about as much**"), (0.79, "**less**")])
def test_each_case_of_the_gradient_and_its_neighbour(value, words):
    assert words in softmax_claims(planted(1, value, 1), 64, 64)["gradient_says"]


@pytest.mark.parametrize(("value", "words"), [(1.004, "changes nothing"), (1.006, "fewer keys"), (0.51, "fewer keys"),
                                              (0.49, "on one key")])
def test_each_case_of_the_entropy_and_its_neighbour(value, words):
    assert words in softmax_claims(planted(1, 1, value), 64, 64)["entropy_says"]


def test_a_mean_is_told_where_it_is_far_above_the_median():
    drawn = planted(1, 1, 1)
    assert "mean" not in softmax_claims(drawn, 64, 64)["gradient_says"]
    drawn.gradient["plain"][:, 0] = 5000
    assert "the mean is 6" in softmax_claims(drawn, 64, 64)["gradient_says"]


def test_the_curves_cross_where_the_lecturer_found_it():
    assert 300 < crossing(survey(64, 0, "normal")) < 420
    assert crossing(planted(1, 2, 1)) == WIDTHS[-1]
