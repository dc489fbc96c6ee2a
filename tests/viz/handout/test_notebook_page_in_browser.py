"""A record in a notebook: a click opens the head with its own numbers, and the theme is the notebook's."""
import numpy as np
from playwright.sync_api import expect

from model.core import heads
from tests import fabricate
from viz.notebook import show

MADE = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)
BEHIND = "getComputedStyle(document.documentElement).backgroundColor"


def test_click_opens_a_head_in_the_notebooks_theme(from_file):
    notebook = ("<!doctype html><meta charset=utf-8><body style='background: rgb(17, 18, 19)'><div>"
                f"{show(MADE)._repr_html_()}</div>")
    page = from_file(notebook.encode(), color_scheme="light")
    frame = page.frame_locator("iframe")
    grid, view = frame.locator(".ch.grid[data-heads='72']"), frame.locator(".ch.view[data-drawn]")
    expect(frame.get_by_text("Click a head to open it here.")).to_be_visible()
    assert not frame.locator("h1, header, #present").count() and view.count() == 0
    pitch, left = (float(grid.get_attribute(f"data-{name}")) for name in ("pitch", "left"))
    top = grid.locator(".label.row").filter(has_text="layer 3").bounding_box()
    box = grid.locator(".stage").bounding_box()

    def click(head: int) -> None:
        page.mouse.click(box["x"] + left + (head + 0.5) * pitch, top["y"] + top["height"] / 2)

    click(5)
    expect(view).to_have_attribute("data-drawn", "layer 3 · head 5 matrix")
    expect(grid).to_have_attribute("data-open", "3.5")
    expect(frame.get_by_role("heading", name="Layer 3 · head 5")).to_be_visible()
    beside = view.bounding_box()
    assert beside["x"] > box["x"] + box["width"] and abs(beside["y"] - box["y"]) < 150
    cells = view.locator(".matrix > canvas").first.bounding_box()
    page.mouse.move(cells["x"] + 2.5 * cells["width"] / 16, cells["y"] + 10.5 * cells["height"] / 16)
    written = float(view.locator(".tip div", has_text="weight").locator("span").last.inner_text())
    assert abs(written - heads.weights(MADE.maps[0].layers[3], 5)[10, 2]) <= 0.00052
    page.mouse.click(cells["x"] - 10, cells["y"] + 10.5 * cells["height"] / 16)   # the token it, and its row
    frame.get_by_role("button", name="lines").click()
    click(7)
    expect(view).to_have_attribute("data-drawn", "layer 3 · head 7 lines")
    expect(view.locator(".from").first).to_have_text("it")
    inside = page.frames[1]
    assert inside.evaluate(BEHIND) == "rgb(17, 18, 19)"
    expect(frame.locator(":root")).to_have_attribute("data-theme", "dark")
    height = page.locator("iframe").bounding_box()["height"]
    assert abs(height - inside.evaluate("document.body.scrollHeight")) <= 4, "the frame is as high as what is in it"
    page.evaluate("document.body.style.background = 'rgb(250, 250, 240)'")
    page.wait_for_function("() => true")
    expect(frame.locator(":root")).to_have_attribute("data-theme", "light")
    assert np.isclose(page.locator("iframe").bounding_box()["height"], height, atol=4)
