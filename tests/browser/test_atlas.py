"""The atlas in a real browser: a dot opens a card, a frame lists heads, an example opens at its cell."""
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings

PLOT = ".st-key-chart-atlas-map .clearhead-chart[data-drawn]"
DOT = """([kind, place]) => {
  const chart = document.querySelector(kind), { x, y } = chart._fullData[0], { xaxis, yaxis } = chart._fullLayout;
  const { left, top } = chart.getBoundingClientRect();
  return [left + xaxis._offset + xaxis.l2p(x[place]), top + yaxis._offset + yaxis.l2p(y[place])];
}"""


def dot(seen, place: int) -> list[float]:
    return seen.page.evaluate(DOT, [PLOT, place])


def test_a_dot_opens_its_card_a_frame_lists_heads_and_an_example_opens_at_its_cell(seen):
    words = strings("atlas")
    seen.page.goto(seen.address + "/atlas?across=detect_previous&up=distance")
    expect(seen.main.locator(PLOT)).to_be_visible(timeout=PATIENCE)
    seen.rest().main.locator(PLOT).scroll_into_view_if_needed()
    seen.page.mouse.click(*dot(seen, 2))   # layer 0 head 2 looks at the previous token
    expect(seen.main.get_by_text(words["card"].format(head="0·2"), exact=True)).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text("Best fit of 0·2")).to_be_visible(timeout=PATIENCE)
    (x, y), (to_x, to_y) = dot(seen.rest(), 0), dot(seen, 1)
    seen.page.mouse.move(min(x, to_x) - 14, min(y, to_y) - 14)
    seen.page.mouse.down()
    seen.page.mouse.move((x + to_x) / 2, (y + to_y) / 2, steps=3)
    seen.page.mouse.move(max(x, to_x) + 14, max(y, to_y) + 14, steps=3)
    seen.page.mouse.up()
    expect(seen.main.get_by_role("button", name=words["clear"])).to_be_visible(timeout=PATIENCE)
    assert {"0", "1"} <= set(seen.rest().params()["heads"][0].split(","))
    seen.main.locator(".st-key-syntax summary").click()
    expect(seen.main.locator(".st-key-syntax-tree-wide .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text(strings("syntax")["drawing_about"])).to_be_visible(timeout=PATIENCE)
    seen.rest().main.locator("[class*=st-key-atlas-go-strongest-0-0] button").first.click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*layer=0&head=2&token=\d+&pair=\d+"), timeout=PATIENCE)
    expect(seen.main.get_by_text(strings("heads")["head_title"].format(layer=0, head=2))).to_be_visible(
        timeout=PATIENCE)
