"""The whole lesson without a browser, at the ends of its controls: what stands beside the numbers fits them."""
import re

import numpy as np
import pytest
from scipy import stats

from tests.leaks import given_away
from tests.lesson_pages import shown
from viz.text import strings

PROSE = strings("lessons/information")


def test_before_an_answer_nothing_tells_what_the_mask_alone_gives():
    page = shown("information")
    words = " ".join([*page.words, *page.alts.values()])
    assert not given_away(PROSE["predict"], words.replace(PROSE["predict"]["ask"], ""))
    assert not {"information-bits", "information-mutual"} & set(page.charts)
    assert not {"toy", "layers"} & set(page.notices) and "the mask" not in words


def by_hand(toy: str, n: int) -> float:
    """I of a head that does one thing, from its joint distribution."""
    rows = {"causal": np.tril(np.ones((n, n))), "itself": np.eye(n), "first": np.eye(n)[np.zeros(n, int)]}[toy]
    joint = rows / rows.sum(1, keepdims=True) / n
    return float(stats.entropy(joint.ravel(), np.outer(joint.sum(1), joint.sum(0)).ravel(), base=2))


@pytest.mark.parametrize(("toy", "size", "matrix", "bond", "learnt"), [
    ("causal", 2, "query", 0.0, 0.0), ("first", 64, "value", 4.0, 3.0)])
def test_what_is_said_once_answered_fits_the_numbers_of_the_page(toy, size, matrix, bond, learnt):
    page = shown("information", guess="b", toy=toy, size=size, matrix=matrix, bond=bond, learnt=learnt)
    assert all(len(lines) <= 3 for lines in page.notices.values())
    said = page.notices["toy"]
    assert float(re.search(r"\*\*(-?[\d.]+) bits", said[0])[1]) == pytest.approx(by_hand(toy, size), abs=6e-4)
    assert f"still has {by_hand('causal', size):.3f}" in said[2] and f"= {np.log2(size):.3f}, the most there" in said[1]
    stress = float(re.search(r"Stress \*\*([\d.]+)\*\*", page.notices["map"][0])[1])
    assert stress > 0.2 and "worse than poor" in page.notices["map"][0]
    own = re.search(r"\*\*(\d+)%\*\* of one head's (\S+) range .* than the (\d+)%", page.notices["subspaces"][0])
    table = next(each for each in page.words if each.startswith(PROSE["subspaces"]["table_head"])).splitlines()
    row = next(each for each in table if each.startswith(f"| {own[2]} "))
    assert own[2] == PROSE["subspaces"]["matrices"][matrix] and int(own[1]) > int(own[3]) == 8
    assert row == f"| {own[2]} | {own[1]}% | {own[3]}% | 0% |"
    assert ("do not depend" in page.notices["bound"][0]) == (bond == 0)


def test_the_classical_map_has_a_verdict_on_itself():
    page = shown("information", guess="b", method="classical")
    assert page.numbers["map"]["stress"] == page.numbers["map"]["stress_classical"]
    assert f"Stress **{page.numbers['map']['stress_classical']:.3f}**" in page.notices["map"][0]
