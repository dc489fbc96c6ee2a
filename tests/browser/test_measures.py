"""Measures in a real browser: the table, a click on a row, silencing, a file of texts, and the grid of Heads coloured
by it."""
import csv
import io
import re

from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def saved(seen, key: str) -> list[dict]:
    with seen.page.expect_download() as download:
        seen.main.locator(f".st-key-{key} button").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(io.StringIO(file.read(), newline="")))


def test_silencing_fills_its_column_and_a_row_opens_its_head(seen):
    words = strings("measures")
    seen.page.goto(seen.address + "/measures")
    table = seen.main.locator(".st-key-head-table [data-testid=stDataFrame]")
    expect(table).to_be_visible(timeout=PATIENCE)
    seen.rest().main.get_by_role("button", name=words["silence"]).click()
    expect(seen.main.locator(".st-key-chart-measures-effects .clearhead-chart[data-drawn]")).to_be_visible(
        timeout=PATIENCE)
    rows = saved(seen.rest(), "head-table-csv")
    assert len(rows) == 72
    assert all(0 < float(row["silenced_vector"]) < 1 and 0 <= float(row["fit"]) <= 1 for row in rows)
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


def test_a_file_is_averaged_and_colours_the_grid_and_a_hostile_one_is_one_sentence(seen):
    words = strings("measures")
    seen.page.goto(seen.address + "/measures")
    chosen = seen.main.locator("[data-testid=stFileUploader] input")
    expect(chosen).to_be_attached(timeout=PATIENCE)
    chosen.set_input_files({"name": "<img src=x onerror=alert(1)>.txt", "mimeType": "text/plain",
                            "buffer": b"fine\n\xff\n"})
    expect(seen.main.get_by_text("line 2: byte 1 (0xFF) is not UTF-8")).to_be_visible(timeout=PATIENCE)
    chosen.set_input_files({"name": "three.jsonl", "mimeType": "text/plain",
                            "buffer": b'{"text": "A cat sat."}\n"It was tired."\n"=1+1 is two"\n'})
    expect(seen.main.locator(".st-key-many-csv button")).to_be_visible(timeout=PATIENCE)
    rows = saved(seen.rest(), "many-csv")
    assert len(rows) == 72 and {row["texts"] for row in rows} == {row["entropy_n"] for row in rows} == {"3"}
    assert rows[2]["pattern"] == "previous"
    seen.main.get_by_role("button", name=words["many_open"]).click()
    seen.page.wait_for_url(re.compile(r"/heads\?.*&colour=file_previous$"), timeout=PATIENCE)
    expect(seen.main.get_by_role("combobox", name=strings("heads")["colour"])).to_have_value(
        strings("heads")["colour_file"].format(title="looks at the previous token", name="three.jsonl"),
        timeout=PATIENCE)
    assert seen.main.locator("[data-testid=stMain] img[src=x]").count() == 0
