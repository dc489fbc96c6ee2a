"""A notebook's page has every kind and head, nothing of a handout's frame, and works in a browser."""
import base64
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from clearhead.model.core import heads
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionMap
from clearhead.viz.components.messages import unpack
from clearhead.viz.export.handout import notebook_page
from clearhead.viz.notebook import show
from tests import fabricate


def parts(page: bytes, kind: str) -> dict[str, bytes]:
    section = re.search(rf'<section data-kind="{kind}">(.*?)</section>', page.decode("utf-8"), re.DOTALL)[1]
    return {name: zlib.decompress(base64.b64decode(text))
            for name, text in re.findall(r'<script type="text/plain" \w+(?:-head)?="(\w+)">(.*?)</script>', section)}


def bodies(content: dict[str, bytes]) -> list[bytes]:
    return [body for name, body in content.items() if name.isdecimal()]


def two_kinds():
    made = fabricate.record(7)
    cross = AttentionMap(Kind.CROSS, fabricate.tokens(4), made[Kind.SELF].queries, (fabricate.layer(2, 4, 7),))
    return replace(made, maps=(*made.maps, cross), notes=("Not shown: a module.",))


def test_notebook_page_has_every_head():
    made = two_kinds()
    shown = show(made).page
    assert b"<h1" not in shown and b"Present" not in shown and b"Figure 1" not in shown and b"Not shown: a mod" in shown
    for kind in made.kinds:
        content = parts(shown, kind.value)
        assert {"state", "grid", "shown"} < set(content)
        messages = [unpack(body) for body in bodies(content)]
        every = [(layer, head) for layer in made[kind].layers for head in range(layer.heads)]
        assert [tuple(header["heads"][0]) for header, _ in messages] == [(layer.index, head) for layer, head in every]
        for (_, arrays), (layer, head) in zip(messages, every, strict=True):
            weights = (arrays["weights"][0] / 65535.0) ** 2
            assert np.abs(weights - heads.weights(layer, head)).max() < 1e-4


def test_oversized_texts_are_reported_and_left_out(monkeypatch):
    monkeypatch.setattr(notebook_page, "LARGEST", 3 * 2 * 6 * 16 * 16)
    first = unpack(bodies(parts(show(fabricate.record(16)).page, "self"))[0])[1]
    assert "weights" in first and "scores" not in first, "of half the room the weights alone"
    monkeypatch.setattr(notebook_page, "LARGEST", 1_000)
    shown = show(fabricate.record(16)).page
    assert bodies(parts(shown, "self")) == [] and "Draw one head" in shown.decode("utf-8")


def test_tokens_are_chosen_by_text():
    made = fabricate.record(("the", "animal", "it", "the"))
    by_text = show(made, layer=0, head=0, token="it", pair=("it", "animal"))
    by_position = show(made, layer=np.int64(0), head=np.uint8(0), token=np.int64(2), pair=(2, 1))
    assert parts(by_text.page, "self") == parts(by_position.page, "self")
    assert parts(by_text.page, "self") != parts(show(made, layer=0, head=0, token=3, pair=(2, 1)).page, "self")
    assert parts(show(made, layer=0, head=0, token="the#2").page, "self") == parts(
        show(made, layer=0, head=0, token=3).page, "self")
    for wrong, said in (({"token": 400}, "no token 400"), ({"token": "dog"}, "no token .dog.*the animal it the"),
                        ({"token": "the"}, "2 tokens are .the.*the#1 to the#2"), ({"token": True}, "not by True"),
                        ({"pair": ("it", "dog")}, "no token 'dog'"), ({"pair": "it"}, "must be two tokens"),
                        ({"pair": (1, -5)}, "no token -5"), ({"head": 1.0}, "cannot be shown"),
                        ({"grid": True, "layer": 99}, "no layer 99"), ({"kind": "cross"}, "no 'cross' attention"),
                        ({"lens": "film"}, "lens"), ({"overlay": ((0, 77),)}, "head 77"),
                        ({"overlay": 3}, "cannot be shown"), ({"tokn": 3}, "cannot be shown .*'tokn'")):
        with pytest.raises(UserError, match=said):
            show(made, **wrong)


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
