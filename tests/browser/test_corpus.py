"""Heads over a corpus in a real browser: the map of heads, one text with silencing, and a user's file."""
import csv
import io
import re

from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE

PLOT = ".st-key-chart-atlas-map .clearhead-chart[data-drawn] .plot"
DOT = """([kind, place]) => {
  const chart = document.querySelector(kind), { x, y } = chart._fullData[0], { xaxis, yaxis } = chart._fullLayout;
  const { left, top } = chart.getBoundingClientRect();
  return [left + xaxis._offset + xaxis.l2p(x[place]), top + yaxis._offset + yaxis.l2p(y[place])];
}"""


def dot(seen, place: int) -> list[float]:
    return seen.page.evaluate(DOT, [PLOT, place])


def test_dot_opens_its_card_and_a_frame_lists_heads(seen):
    words = strings("atlas")
    seen.page.goto(seen.address + "/atlas?across=detect_previous&up=distance")
    expect(seen.main.locator(PLOT)).to_be_visible(timeout=PATIENCE)
    seen.rest().main.locator(PLOT).scroll_into_view_if_needed()
    seen.page.mouse.click(*dot(seen, 2))   # layer 0 head 2 looks at the previous token
    expect(seen.main.get_by_text(words["card"].format(head=(0, 2)), exact=True)).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_text("Best fit of 0·2")).to_be_visible(timeout=PATIENCE)
    (x, y), (to_x, to_y) = dot(seen.rest(), 0), dot(seen, 1)
    seen.page.mouse.move(min(x, to_x) - 14, min(y, to_y) - 14)
    seen.page.mouse.down()
    seen.page.mouse.move((x + to_x) / 2, (y + to_y) / 2, steps=3)
    seen.page.mouse.move(max(x, to_x) + 14, max(y, to_y) + 14, steps=3)
    seen.page.mouse.up()
    expect(seen.main.get_by_role("button", name=words["clear"])).to_be_visible(timeout=PATIENCE)
    assert {"0", "1"} <= set(seen.rest().params()["heads"][0].split(","))
    seen.rest().main.locator("[class*=st-key-atlas-go-strongest-0-0] button").first.click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*layer=0&head=2&token=\d+&pair=\d+"), timeout=PATIENCE)
    expect(seen.main.get_by_text(strings("heads")["head_title"].format(layer=0, head=2))).to_be_visible(
        timeout=PATIENCE)


def saved(seen, key: str) -> list[dict]:
    with seen.page.expect_download() as download:
        seen.main.locator(f".st-key-{key} button").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(io.StringIO(file.read(), newline="")))


def test_silencing_fills_its_column(seen):
    words = strings("measures")
    run, stop = (seen.main.get_by_role("button", name=words["silence"][name], exact=True) for name in ("run", "stop"))
    seen.page.goto(seen.address + "/measures?text=" + "+".join("a" * 500))   # slow enough to be stopped
    run.click(timeout=PATIENCE)
    expect(stop).to_be_visible(timeout=PATIENCE)
    assert not run.is_visible()   # one button in one place
    stop.click(timeout=PATIENCE)
    expect(run).to_be_visible(timeout=PATIENCE)
    seen.page.goto(seen.address + "/measures")
    table = seen.main.locator(".st-key-head-table [data-testid=stDataFrame]")
    expect(table).to_be_visible(timeout=PATIENCE)
    seen.rest()
    run.click()
    expect(seen.main.locator(".st-key-chart-measures-effects .clearhead-chart[data-drawn]")).to_be_visible(
        timeout=PATIENCE)
    rows = saved(seen.rest(), "head-table-csv")
    assert len(rows) == 72 and all(0 < float(h["silenced_vector"]) < 1 and 0 <= float(h["fit"]) <= 1 for h in rows)
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    # the third row: layer 0 head 2, which looks at the previous token
    spot = box["x"] + 300, box["y"] + 38 + 35 * 2 + 10
    seen.page.mouse.move(*spot)
    seen.page.wait_for_timeout(600)   # the table learns where the pointer is only some frames after it moved
    seen.page.mouse.click(*spot)
    seen.page.wait_for_url(re.compile(r"/heads\?.*&layer=0&head=2$"), timeout=PATIENCE)
    expect(seen.main.get_by_text(strings("heads")["head_title"].format(layer=0, head=2))).to_be_visible(
        timeout=PATIENCE)


def test_file_is_averaged_and_colours_the_grid(seen):
    words = strings("measures")
    seen.page.goto(seen.address + "/corpus?over=file")
    chosen = seen.main.locator("[data-testid=stFileUploader] input")
    expect(chosen).to_be_attached(timeout=PATIENCE)
    chosen.set_input_files({"name": "<img src=x onerror=alert(1)>.txt", "mimeType": "text/plain",
                            "buffer": b"fine\n\xff\n"})
    expect(seen.main.get_by_text("line 2: this is not text in UTF-8")).to_be_visible(timeout=PATIENCE)
    chosen.set_input_files({"name": "three.jsonl", "mimeType": "text/plain",
                            "buffer": b'{"text": "A cat sat."}\n"It was tired."\n"=1+1 is two"\n'})
    expect(seen.main.locator(".st-key-many-csv button")).to_be_visible(timeout=PATIENCE)
    rows = saved(seen.rest(), "many-csv")
    assert len(rows) == 72 and {row["texts"] for row in rows} == {row["entropy_n"] for row in rows} == {"3"}
    assert rows[2]["pattern"] == "previous"
    seen.main.get_by_role("button", name=words["many_open"]).click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*&colour=file_previous$"), timeout=PATIENCE)
    seen.main.locator(".st-key-display button").click()
    expect(seen.page.get_by_role("combobox", name=strings("heads")["colour"])).to_have_value(
        strings("heads")["colour_file"].format(title="weight on the previous token", name="three.jsonl"),
        timeout=PATIENCE)
    assert seen.main.locator("[data-testid=stMain] img[src=x]").count() == 0
