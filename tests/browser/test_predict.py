"""Predict, then reveal: nothing of a covered head is on the page; cells are marked; the score equals numpy's."""
import numpy as np
from playwright.sync_api import expect

from clearhead.model import sources
from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.viz.style.text import strings
from tests import headline
from tests.browser.watch import PATIENCE
from tests.model.only import ask

WORDS = strings("predict")


def cell(seen, row: int, column: int, n: int) -> tuple[float, float]:
    """Return the position of a cell of the covered n × n matrix in the window."""
    canvas = seen.main.locator(".st-key-covered .matrix > canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / n, box["y"] + (row + 0.5) * box["height"] / n


def covered(seen, query: str):
    seen.page.goto(f"{seen.address}/heads?predict=cover&{query}")
    expect(seen.main.locator(".st-key-covered [data-drawn]")).to_be_visible(timeout=PATIENCE)
    return seen.rest()


def shown(seen) -> list[float]:
    """Return the three numbers of the score."""
    expect(seen.main.locator("[data-testid=stMetricValue]")).to_have_count(3, timeout=PATIENCE)
    seen.rest()
    return [float(each) for each in seen.main.locator("[data-testid=stMetricValue]").all_inner_texts()]


def test_marks_are_revealed_scored_and_linked(watch):
    seen = covered(watch(), "layer=3&head=1&token=10")
    body = seen.main.inner_text()
    assert headline.ANIMAL not in body and "3·1" not in body and seen.main.locator(".st-key-grid").count() == 0
    reveal = seen.main.get_by_role("button", name="Reveal")
    expect(reveal).to_be_disabled()
    seen.page.mouse.move(*cell(seen, 10, 2, 16))
    assert seen.main.locator(".st-key-covered .tip").inner_text().split("\n")[1:] == ["marked", "no"]
    for column in (2, 9, 9, 13):
        seen.page.mouse.click(*cell(seen, 10, column, 16))
    seen.main.locator(".st-key-covered .board").focus()
    for key in ("ArrowUp", "ArrowRight", "Enter"):   # from the row in focus one up, and its own cell
        seen.page.keyboard.press(key)
    expect(seen.main.get_by_text("3 marked")).to_be_visible()
    reveal.click()
    numbers = shown(seen)
    record = ask(sources.open_query("minilm", headline.TIRED))
    weights = heads.weights(record[Kind.SELF].layer(3), 1).astype(float)
    rows = {10: [2, 13], 9: [9]}
    wanted = [np.mean([weights[row, columns].sum() for row, columns in rows.items()]),
              np.mean([np.sort(weights[row])[-len(columns):].sum() for row, columns in rows.items()]),
              np.mean([2 / 16, 1 / 16])]
    np.testing.assert_allclose(numbers, wanted, atol=0.0006)
    assert seen.params()["marks"] == ["9009,10002,10013"] and seen.params()["predict"] == ["shown"]
    expect(seen.main.locator(".st-key-head .guess.shown .box")).to_have_count(3)
    seen.page.reload()
    assert shown(seen) == numbers
    seen.main.locator(".st-key-grid .scroll").focus()
    for key in ("ArrowRight", "Enter"):
        seen.page.keyboard.press(key)
    # another head comes covered
    expect(seen.main.locator(".st-key-covered [data-drawn]")).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params()["head"] == ["2"] and "marks" not in seen.params()
    seen.main.get_by_role("button", name=WORDS["leave"]).click()
    expect(seen.main.locator(".st-key-grid [data-heads]")).to_be_visible(timeout=PATIENCE)
    assert "predict" not in seen.rest().params()
