"""The sentences of the lesson, at the ends and in the middle of its controls, read again and held against rows drawn
anew by another route; another seed says the same."""
import re

import numpy as np
import pytest
from scipy import special, stats

from model.lessons.sqrt_dk import draws
from model.lessons.sqrt_dk.draws import KINDS, WIDTHS, Survey
from viz.pages.scale import KEYS, STEPS, entropy_change
from viz.pages.scale.claims import medians, near_crossing, softmax_claims, standing_claims, training_claims, verdicts
from viz.text import strings

NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e-?\d+)?)"
PLACES = (STEPS[0], 16, 64, 512, STEPS[-1])
CROSSING = {8: 78.0, 64: 350.0}   # about, by the number of keys
SEEDS = (0, 1, 2)


def read(sentence: str) -> list[float]:
    """Its numbers."""
    return [float(number.replace(",", "")) for number in re.findall(NUMBER, sentence)]


def other_medians(d_k: int, n_keys: int) -> dict[str, dict[str, float]]:
    """By another route than the page's: independent rows, scipy's softmax and entropy, whole Jacobians."""
    rng, found = np.random.default_rng(7), {"entropy": {}, "slope": {}, "gradient": {}}
    rows = 300 if d_k <= 512 else 40
    keys, queries = rng.standard_normal((rows, n_keys, d_k)), rng.standard_normal((rows, d_k))
    for which, divisor in (("plain", 1.0), ("scaled", d_k**0.5)):
        weights = [special.softmax(key @ query / divisor) for key, query in zip(keys, queries, strict=True)]
        slopes = [np.diag(row) - np.outer(row, row) for row in weights]
        found["entropy"][which] = np.median([stats.entropy(row, base=2) for row in weights])
        found["slope"][which] = np.median([np.linalg.norm(slope) for slope in slopes])
        found["gradient"][which] = np.median([np.linalg.norm(slope @ key / divisor)
                                              for slope, key in zip(slopes, keys, strict=True)])
    return found


def said_at(d_k: int, n_keys: int = 64, seed: int = 0, kind: str = "normal", crossing: float | None = 350.0) -> dict:
    here = draws.at_width(d_k, n_keys, seed, kind)
    return standing_claims(here, d_k, crossing) | softmax_claims(here, d_k, n_keys)


def wrong(said: dict[str, str], wanted: dict[str, dict[str, float]], d_k: int) -> list[str]:
    """Which sentences say something that these numbers contradict."""
    ratio = {name: which["plain"] / max(which["scaled"], 1e-300) for name, which in wanted.items()}
    claims = [("**more**" in said["stands"], ratio["gradient"] > 1), ("**less**" in said["stands"],
                                                                      ratio["gradient"] < 1),
              ("**larger**" in said["slope_says"], ratio["slope"] > 1),
              ("**smaller**" in said["slope_says"], ratio["slope"] < 1),
              ("**similar**" in said["slope_says"], 0.6 < ratio["slope"] < 1.6),
              ("near the crossing" in said["stands"], 0.5 < ratio["gradient"] < 2),
              ("nearly all its weight is on one key" in said["entropy_says"], wanted["entropy"]["plain"] < 0.65),
              ("fewer keys" in said["entropy_says"], wanted["entropy"]["plain"] < wanted["entropy"]["scaled"]),
              ("changes nothing" in said["entropy_says"], d_k == 1), ("both curves" in said["stands"], d_k == 1)]
    found = [sentence for sentence, true in claims if sentence and not true]
    for name, sentence in (("gradient", said["stands"].split(" (")[0]), ("slope", said["slope_says"])):
        for printed in read(sentence)[-2:] if d_k > 1 else []:
            if not any(0.6 < printed / each < 1.6 for each in wanted[name].values() if each > 1e-3 or printed > 1e-3):
                found += [printed] if max(wanted[name].values()) < 1e-3 or printed > 0.02 else []
    return found


@pytest.mark.parametrize("n_keys", [KEYS[0], KEYS[-1]])
@pytest.mark.parametrize("d_k", PLACES)
def test_what_is_said_at_the_ends_and_in_between_is_true_of_other_rows(d_k, n_keys):
    assert not wrong(said_at(d_k, n_keys, crossing=CROSSING[n_keys]), other_medians(d_k, n_keys), d_k)


def test_planted_wrong_sentences_are_caught():
    truth = {d_k: other_medians(d_k, 64) for d_k in (16, 512)}
    assert not wrong(said_at(16), truth[16], 16) and not wrong(said_at(512), truth[512], 512)
    assert wrong(said_at(512) | {"stands": said_at(16)["stands"]}, truth[512], 512)
    assert wrong(said_at(16) | {"slope_says": said_at(512)["slope_says"]}, truth[16], 16)
    assert wrong(said_at(16) | {"entropy_says": said_at(512)["entropy_says"]}, truth[16], 16)


def kinds_of_sentence(said: dict[str, str]) -> tuple[str, ...]:
    return tuple(re.sub(rf"{NUMBER}|,", "#", sentence) for sentence in said.values())


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_another_seed_changes_no_sentence_at_any_step_of_the_slider(kind):
    for d_k in (each for each in STEPS if each <= 768):
        said = {kinds_of_sentence(said_at(d_k, seed=seed, kind=kind)) for seed in SEEDS}
        near = near_crossing(d_k, CROSSING[64])
        said_of_reasons = {kinds_of_sentence(verdicts(draws.reasons(d_k, 64, seed, kind), near))
                           for seed in SEEDS[:2]}
        assert len(said) == len(said_of_reasons) == 1, (d_k, said, said_of_reasons)


def planted(slope: float, gradient: float, entropy: float, rows: int = 10) -> Survey:
    """One width: what is not divided is this, what is divided is 1."""
    def both(plain: float) -> dict[str, np.ndarray]:
        return {"plain": np.full(rows, plain), "scaled": np.ones(rows)}

    return Survey(np.ones(rows), both(entropy), both(slope), both(gradient))


@pytest.mark.parametrize(("value", "words"), [(1.41, "**larger**"), (1.39, "**similar**"), (0.72, "**similar**"),
                                              (0.71, "**smaller**")])
def test_each_case_of_the_slope_and_its_neighbour(value, words):
    assert words in softmax_claims(planted(value, 1, 1), 64, 64)["slope_says"]


@pytest.mark.parametrize(("value", "d_k", "words"), [
    (1.1, 64, "**more** reaches the query without the division: 1.1 against 1 (medians), a factor of 1.1"),
    (0.9, 512, "**less** reaches"), (1.004, 64, "both curves are at 1"),
    (1.3, 320, "near the crossing"), (0.7, 400, "near the crossing"), (1.3, 280, "**more**"), (0.001, 1024, "hundred")])
def test_each_case_of_the_gradient_and_its_neighbour(value, d_k, words):
    assert words in standing_claims(planted(1, value, 1), d_k, 350.0)["stands"]


@pytest.mark.parametrize(("value", "words"), [(1.004, "changes nothing"), (1.006, "fewer keys"), (0.61, "fewer keys"),
                                              (0.59, "on one key")])
def test_each_case_of_the_entropy_and_its_neighbour(value, words):
    assert words in softmax_claims(planted(1, 1, value), 64, 64)["entropy_says"]


def test_a_mean_is_explained_where_it_is_far_above_the_median():
    found = planted(1, 1, 1)
    assert "tie" not in standing_claims(found, 64, None)["means"]
    found.gradient["plain"][0] = 50
    assert "mean (dotted) 5.9: rows in which two keys nearly tie" in standing_claims(found, 64, None)["means"]


def test_the_curves_cross_where_the_lecturer_found_it_and_nothing_is_said_where_they_do_not():
    assert 300 < draws.crossing(draws.survey(64, 0, "normal")) < 420
    flat = Survey(np.ones((len(WIDTHS), 3)), {}, {}, {"plain": np.full((len(WIDTHS), 3), 2.0),
                                                      "scaled": np.ones((len(WIDTHS), 3))})
    assert draws.crossing(flat) is None
    said = standing_claims(planted(1, 2, 1), 4096, None)
    assert said["crosses"] == "" and "cross" not in " ".join(said.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_verdict_agrees_with_the_numbers_beside_it(kind):
    words = strings("lessons/scale")["reasons"]["verdicts"]
    for d_k in (1, 16, 128, 1024, 4096):
        found = draws.reasons(d_k, 64, 1, kind)
        said, (plain, scaled) = verdicts(found, False), (found.gradient["plain"], found.gradient["scaled"])
        assert (said["gradient"] == words["gradient_more"]) <= (plain > scaled)
        assert ("of most rows" in said["gradient"]) <= (plain < scaled)
        assert said["saturates"].startswith("yes") <= (found.largest["plain"] > 0.9)
        assert ("no key has half" in said["saturates"]) <= (found.largest["plain"] < 0.5)
        assert ("hardly" in said["overflow"]) == (found.overflow["plain"] < 0.03)
        assert (d_k == 1) == all(said[name].endswith("nothing is divided")
                                 for name in ("gradient", "values", "saturates"))


def test_what_overflows_with_64_keys_is_as_the_lesson_says():
    more = " ".join(strings("lessons/scale")["reasons"]["more"])
    said = re.search(r"([\d.]+)% .*? 512, (\d+)% at 1,024, (\d+)% at 2,048 and (\d+)% at 4,096", more)
    for printed, d_k in zip(said.groups(), (512, 1024, 2048, 4096), strict=True):
        shares = [100 * draws.overflows(draws.rows_of(d_k, 64, seed, "normal")[2], 1.0) for seed in (0, 1)]
        assert float(printed) == pytest.approx(np.mean(shares), abs=4)


@pytest.mark.parametrize(("ends", "words"), [
    ([0.5, 0.6, 0.7], "lower than with √d_k in all 3"), ([0.5, 0.6, 1.0], "lower than with √d_k in 2 of 3"),
    ([0.999, 0.998, 1.0], "as high as with √d_k in all 3")])
def test_trainings_are_counted_by_the_digits_in_the_table(ends, words):
    said = training_claims({"none": ends, "root": [1.0, 1.0, 1.0], "width": [1.0, 1.0, 1.0]})
    assert words in said["none"] and "Not divided" in said["none"] and "as high" in said["width"]
    other = training_claims({"none": [0.5, 1.0, 0.7], "root": [0.7, 0.7, 0.7], "width": [0.9, 0.8, 0.7]})
    assert "lower than with √d_k in 1 of 3 starts and higher in 1" in other["none"]
    assert "higher than with √d_k in 2 of 3" in other["width"]


@pytest.mark.parametrize(("own", "undone", "words"), [(1.9, 0.2, "lowers"), (1.0, 1.2, "raises"),
                                                      (1.001, 1.004, "leaves")])
def test_what_the_division_does_to_a_head_follows_the_digits(own, undone, words):
    assert words in entropy_change(strings("lessons/scale")["real"], own, undone)


def test_medians_are_numpys():
    found = draws.at_width(64, 64, 3, "normal")
    assert medians(found)["slope_plain"] == np.median(found.slope["plain"])
