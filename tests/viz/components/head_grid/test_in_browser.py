"""The grid in a real browser."""
import pytest
from playwright.sync_api import expect

from tests.viz.components.conftest import events, rest, runs


def spot(page, layer: int, head: int) -> dict:
    """Return where a head's thumbnail is in the grid by layer, in the stage's pixels."""
    pitch, left = (int(page.locator(".ch.grid").get_attribute(f"data-{name}")) for name in ("pitch", "left"))
    return {"x": left + head * pitch + pitch / 3, "y": 16 + layer * pitch + pitch / 3}


def pixels(page, selector: str) -> list[int]:
    """Return the mean red, green and blue of a canvas."""
    return page.locator(selector).evaluate(
        """canvas => {
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), sum = [0, 0, 0];
            for (let i = 0; i < data.length; i++) if (i % 4 < 3) sum[i % 4] += data[i];
            return sum.map(s => 4 * s / data.length);
        }""")


def test_click_opens_a_head_and_sends_little(visit):
    page = visit("case=long")
    expect(page.locator(".ch.grid")).to_have_attribute("data-open", "0.0")
    page.locator(".grid .scroll").hover()
    before = len(page.frames_received)
    page.locator(".grid .stage").click(position=spot(page, 3, 7))
    rest(page)
    assert events(page) == ["grid GridEvent(head=(3, 7), way='open')"]
    expect(page.locator(".ch.grid")).to_have_attribute("data-open", "3.7")
    page.wait_for_selector(".ch.view[data-drawn='layer 3 · head 7 matrix']")
    sizes = [len(frame) for frame in page.frames_received[before:]]
    assert sum(sizes) - 4 * 256 * 256 < 20_000, "the other head's weights and scores, and not the grid again"


def test_hover_keys_and_theme(visit):
    page = visit()
    before = runs(page), len(page.frames_sent)
    page.locator(".grid .stage").hover(position=spot(page, 2, 11))
    tip = page.locator(".grid .tip")
    expect(tip.locator("b")).to_have_text("layer 2 · head 11")
    assert [line.inner_text().split("\n")
            for line in tip.locator("div").all()] == [["previous", "0.260"], ["entropy, bits", "3.600"]]
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    assert (runs(page), len(page.frames_sent)) == before, "a hover asks nobody"
    page.locator(".grid .scroll").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert page.locator(".grid .unseen").inner_text().startswith("layer 1 · head 1, ")
    assert events(page) == []
    page.keyboard.press("Enter")
    rest(page)
    assert events(page) == ["grid GridEvent(head=(1, 1), way='open')"]
    light = {name: pixels(page, name) for name in (".grid canvas", ".view .matrix > canvas")}
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(600)
    for name, bright in light.items():
        assert all(dark < each - 60 for dark, each in zip(pixels(page, name), bright)), name


@pytest.mark.parametrize("case, heads", [("one", 1), ("many", 1024), ("tower", 270)])
def test_any_number_of_heads_fits(visit, case, heads):
    page = visit(f"case={case}")
    grid = page.locator(".ch.grid")
    expect(grid).to_have_attribute("data-heads", str(heads))
    box, inside = grid.bounding_box(), page.locator(".grid .stage").bounding_box()
    assert inside["width"] <= box["width"] + 1
    page.locator(".grid .stage").click(position={"x": inside["width"] - 20, "y": inside["height"] - 12})
    rest(page)
    assert len(events(page)) == 1


def test_ranking_and_numbers_are_shown(visit):
    page = visit("case=tricky&order=1&values=1")
    expect(page.locator(".grid .label.name")).to_have_text(["1·4", "1·3", "1·2", "1·1", "1·0", "0·2", "0·1", "0·0"])
    page.locator(".grid .stage").click(position={"x": 20, "y": 20})
    rest(page)
    assert events(page) == ["grid GridEvent(head=(1, 4), way='open')"]
    page.locator(".grid .stage").hover(position={"x": 20, "y": 20})
    assert page.locator(".grid .tip").inner_text().split("\n")[1:3] == ["value", "−0.300"]
