"""The page Circuits in a real browser."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings


def test_circuits_of_the_induction_decoder(watch):
    seen, words = watch(), strings("circuits")["paths"]
    seen.open("/circuits?model=induction")
    expect(seen.main).to_contain_text("The largest is 0·1 → 1·")
    seen.main.get_by_role("button", name=words["example"]).click()
    seen.rest().main.get_by_role("button", name=words["run"]).click()
    expect(seen.main.get_by_text("The path from 1·")).to_be_visible(timeout=PATIENCE)
    assert "twin=c+b+x+a+d+y+a" in seen.page.url
    expect(seen.rest().main.locator(".st-key-paths-grid")).to_be_visible(timeout=PATIENCE)
    canvas = seen.main.locator(".st-key-circuits-grid canvas").first
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 0.7, "y": box["height"] * 0.3})
    expect(seen.page.locator("h5", has_text="layer 0 · head 1")).to_be_visible(timeout=PATIENCE)
