"""Imported attention in a browser: it opens in the same views, not verified, and errors are one sentence."""
import numpy as np
from playwright.sync_api import expect

from clearhead.viz.style.text import strings
from tests import fabricate
from tests.browser.watch import PATIENCE
from tests.uploads import npz

TOKENS = ["[CLS]", "<img src=x onerror=alert(1)>", "**bold**", "$x$", "[SEP]"]


def mine(weights: np.ndarray) -> dict:
    return {"name": "<b>mine</b>.npz", "mimeType": "application/octet-stream", "buffer": npz(weights, TOKENS)}


def test_imported_attention_is_never_called_verified(seen, tmp_path):
    words, side = strings("frame"), seen.page.locator("[data-testid=stSidebar]")
    seen.page.on("dialog", lambda dialog: seen.wrong.append(f"dialog: {dialog.message}"))
    seen.page.goto(seen.address + "/heads")
    side.get_by_text(words["more"], exact=True).click(timeout=PATIENCE)
    place = side.locator("[data-testid=stFileUploader] input")
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 5))
    place.set_input_files(mine(weights / 2))
    expect(side.get_by_text("expected rows that sum to 1")).to_be_visible(timeout=PATIENCE)
    place.set_input_files(mine(weights))
    expect(side.get_by_text("○ " + words["imported"])).to_be_visible(timeout=PATIENCE)
    title = strings("heads")["head_title"].format(layer=0, head=0)
    expect(seen.main.get_by_text(title).first).to_be_visible(timeout=PATIENCE)
    expect(seen.main.get_by_role("button", name=TOKENS[1]).first).to_be_visible(timeout=PATIENCE)
    assert seen.page.locator("img[src=x]").count() == 0 and seen.page.locator("[data-testid=stSidebar] b").count() == 0
    assert seen.rest().params()["model"][0].startswith("imported:")
    # nothing could answer it
    assert seen.main.get_by_role("button", name=strings("heads")["compare_silenced"]).count() == 0
    recorded = {"name": "mine.safetensors", "mimeType": "application/octet-stream",
                "buffer": fabricate.record(5, text="five tokens").save(tmp_path / "mine.safetensors").read_bytes()}
    place.set_input_files(recorded)
    expect(side.get_by_text("○ " + words["recorded"])).to_be_visible(timeout=PATIENCE)
    assert seen.rest().main.get_by_role("button", name=strings("heads")["compare_silenced"]).count() == 0
    place.set_input_files(mine(weights))
    expect(side.get_by_text("○ " + words["imported"])).to_be_visible(timeout=PATIENCE)
    seen.rest().follow_menu("corpus")
    expect(seen.main.locator(".st-key-head-table [data-testid=stDataFrame]")).to_be_visible(timeout=PATIENCE)
    assert seen.main.get_by_role("button", name=strings("measures")["silence"]["run"]).count() == 0
