"""The whole lesson without a browser: what it says before and after its question is answered, at the ends of its
controls, and whether its training is told as its table has it."""
import re

import pytest

from tests.leaks import given_away
from tests.lesson_pages import shown
from viz.text import strings

PROSE = strings("lessons/scale")


def test_before_an_answer_the_page_has_the_question_and_its_premise_only():
    page = shown("scale", dk=512)
    words = " ".join([*page.words, *page.alts.values()]).replace(PROSE["predict"]["ask"], "")
    assert set(page.notices) == {"variance"} and set(page.charts) == {
        "scale-see", "scale-variance", "scale-histogram-plain", "scale-histogram-scaled"}
    assert not given_away(PROSE["predict"], words.replace("512", ""))
    assert [trace.get("name") for trace in page.charts["scale-see"]["data"]
            if trace.get("name", "").startswith("not divided")] == []


def table(page, first: str) -> list[list[str]]:
    """The rows of the table on the page whose head begins so."""
    found = next(each for each in page.words if each.startswith(f"| {first}"))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found.splitlines()[2:]]


@pytest.mark.parametrize(("dk", "keys", "kind", "train"), [(1, 8, "sign", False), (64, 64, "normal", False),
                                                           (4096, 64, "normal", True)])
def test_what_is_said_once_answered_fits_the_numbers_of_the_page(dk, keys, kind, train, monkeypatch):
    monkeypatch.setattr("viz.pages.scale.training.STARTS", 2)
    page = shown("scale", guess="a", dk=dk, keys=keys, draw=kind, train=train, width=64, real=train)
    assert all(len(lines) <= 3 for lines in page.notices.values())
    said, variance = " ".join(page.notices["see"]), page.numbers["variance"]
    assert variance["measured"] == pytest.approx(dk, rel=0.2) and f"{variance['measured']:,.1f}" in said + " ".join(
        page.notices["variance"])
    assert ("**less**" in said, "**more**" in said) == ((True, False) if dk == 4096 else (False, dk == 64))
    reasons = table(page, "What is said")
    weights = [float(re.findall(r"[\d.]+", cell)[-1]) for cell in reasons[2][1:3]]
    assert weights == pytest.approx([page.numbers["reasons"]["largest_plain"],
                                     page.numbers["reasons"]["largest_scaled"]], abs=6e-4)
    assert (weights[0] == weights[1]) == (dk == 1)
    if train:
        rows = {row[0]: row for row in table(page, "q · k is")}
        names = PROSE["training"]["names"]
        lower = float(rows[names["none"]][1].rstrip("%")) < float(rows[names["root"]][1].rstrip("%"))
        assert ("lower than with √d_k in" in page.notices["training"][0]) == lower
        real = re.search(r"lowers .* from ([\d.]+) to \*\*([\d.]+)\*\*", page.notices["real"][0]).groups()
        assert float(real[1]) < float(real[0]) == pytest.approx(page.numbers["real"]["own"], abs=0.006)
        assert float(rows[names["width"]][3]) > float(rows[names["root"]][3]) > float(rows[names["none"]][3])
