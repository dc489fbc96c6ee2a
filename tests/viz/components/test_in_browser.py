"""The open head, the grid and the strip of tokens in a browser: numpy's numbers, and selections are sent."""
import numpy as np
import pytest
from playwright.sync_api import expect

from clearhead.viz.components.component import Selection
from clearhead.viz.components.files import address
from tests import fabricate
from tests.viz.components.conftest import events, rest, runs

CHANNELS = "async (place) => [...(await import(place)).channels.keys()].sort()"
MADE = fabricate.patterned(fabricate.tokens(), heads=(12,) * 6)   # as the demo page's case "small"
NUMBERS = fabricate.shown(MADE)


def cell(page, row: int, column: int, n: int = 16) -> tuple[float, float]:
    """Return where a cell of the matrix is in the window."""
    box = page.locator(".view .matrix > canvas").bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / n, box["y"] + (row + 0.5) * box["height"] / n


def tip(page) -> tuple[str, dict[str, str]]:
    """Return the title and the rows of the tooltip."""
    box = page.locator(".view .tip")
    expect(box).to_be_visible()
    return box.locator("b").inner_text(), dict(line.locator("span").all_inner_texts()
                                               for line in box.locator("div").all())


def told(page, *wanted: tuple) -> None:
    """Assert that these (token, pair) were sent."""
    assert events(page) == [f"view Selection(token={token}, pair={pair}, marks=None)" for token, pair in wanted]


def test_matrix_shows_numpy_numbers_and_clicks_choose(visit):
    for transposed in (True, False):
        page = visit("transpose=1" if transposed else "")
        before = runs(page), len(page.frames_sent)
        for row, column in [(0, 0), (10, 2), (2, 10), (15, 15), (7, 3), (3, 14)]:
            page.mouse.move(*(cell(page, column, row) if transposed else cell(page, row, column)))
            title, rows = tip(page)
            assert title == f"{fabricate.SENTENCE[row]} ({row}) → {fabricate.SENTENCE[column]} ({column})"
            assert abs(float(rows["weight"]) - NUMBERS.weights[row, column]) <= 0.00052
            assert abs(float(rows["score before softmax"]) - NUMBERS.scores[row, column]) <= 0.0052
        assert (runs(page), len(page.frames_sent)) == before
        expect(page.locator(".view .say")).to_contain_text("column = the token" if transposed else "row = the token")
    edge = page.locator(".view .matrix > canvas").bounding_box()
    for x, y in ((edge["x"] - 20, cell(page, 10, 0)[1]), (cell(page, 0, 2)[0], edge["y"] - 12), cell(page, 5, 7),
                 (edge["x"] - 20, cell(page, 5, 0)[1])):
        page.mouse.click(x, y)
        rest(page)
    told(page, (10, None), (10, (10, 2)), (5, (5, 7)), (None, None))


def test_keyboard_moves_sets_and_clears(visit):
    page = visit()
    page.locator(".view .board").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert events(page) == []
    page.keyboard.press("Enter")
    rest(page)
    page.wait_for_timeout(300)
    table = [line.split("\t") for line in page.locator(".view table").inner_text().split("\n")]
    assert table[0] == ["What didn (3) looks at"]
    assert [line[0] for line in table[2:]] == [f"{text} ({place})" for place, text in enumerate(fabricate.SENTENCE)]
    np.testing.assert_allclose([float(line[1]) for line in table[2:]], NUMBERS.weights[3], atol=0.00052)
    page.locator(".view .board").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    rest(page)
    for _ in range(2):   # the pair goes first, then the token
        page.keyboard.press("Escape")
        rest(page)
    told(page, (3, None), (3, (3, 4)), (3, None), (None, None))


def test_lines_and_text_show_every_weight_of_a_row(visit):
    page = visit("lens=lines&overlay=1")
    left, right = (page.locator(f".view .label.{side}").nth(10).bounding_box() for side in ("left", "right"))
    page.mouse.click(left["x"] + left["width"] - 4, left["y"] + 8)
    rest(page)
    told(page, (10, None))
    page.mouse.move(right["x"] + 4, right["y"] + 8)
    title, rows = tip(page)
    assert title == "it (10) → it (10)"
    for head in range(4):
        weight = fabricate.shown(MADE, layer=0, head=head).weights[10, 10]
        assert abs(float(rows[f"layer 0 · head {head}"]) - weight) <= 0.00052
    page = visit("lens=text&scale=root")
    words = page.locator(".view .words .token")
    expect(words).to_have_text(fabricate.SENTENCE)
    words.nth(10).click()
    rest(page)
    told(page, (10, None))
    words.nth(9).hover()
    assert tip(page)[0] == "it (10) → because (9)"
    assert abs(float(tip(page)[1]["weight"]) - NUMBERS.weights[10, 9]) <= 0.00052
    blues = words.evaluate_all("words => words.map(word => 255 - "
                               "Number(getComputedStyle(word).backgroundColor.match(/\\d+/)))")
    assert (np.diff(np.array(blues)[np.argsort(NUMBERS.weights[10])]) >= 0).all()


def test_cross_attention_has_two_texts_and_a_mask_is_named(visit):
    page = visit("case=cross&lens=text")
    expect(page.locator(".view .words")).to_have_count(2)
    page.locator(".view .words.looking .token").nth(1).click()
    rest(page)
    page.locator(".view .words").nth(1).locator(".token").nth(5).click()
    rest(page)
    told(page, (1, None), (1, (1, 5)))
    page = visit("case=causal")
    page.mouse.move(*cell(page, 3, 9, 13))
    assert tip(page)[1] == {"weight": "0.000", "score before softmax": "masked"}
    expect(page.locator(".view .legend")).to_contain_text("masked")


def test_strong_weight_is_visible_in_a_long_text(visit):
    """A pixel that shows several cells has the largest of them."""
    page = visit("case=longest")
    weights = fabricate.shown(fabricate.patterned(fabricate.repeating(1100), heads=(2,))).weights
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    seen = page.locator(".view .matrix > canvas").evaluate(
        """(canvas, [row, column]) => {
            const at = (place, side) => Math.floor((place + 0.5) * side / 1100);
            const x = at(column, canvas.width), y = at(row, canvas.height);
            return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
        }""",
        [int(row), int(column)])
    assert weights.max() > 0.5 and seen[0] < 120


def test_leaving_and_returning_leaves_nothing_behind(visit):
    page = visit("case=pair&lens=lines")
    counters = page.context.new_cdp_session(page)

    def count() -> dict:
        counters.send("HeapProfiler.collectGarbage")
        return counters.send("Memory.getDOMCounters")

    def away_and_back() -> None:
        for _ in range(2):
            page.get_by_text("leave").click()
            rest(page)

    away_and_back()
    before = count()
    for _ in range(3):
        away_and_back()
    after = count()
    expect(page.locator(".ch.view canvas")).to_have_count(2)
    assert after["jsEventListeners"] <= before["jsEventListeners"] + 4, (before, after)
    assert after["nodes"] <= before["nodes"] + 150, (before, after)
    assert page.evaluate(CHANNELS, address("js/component.js")) == ["grid", "strip", "view"]


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


def selections(*pairs):
    return [f"strip {Selection(*each)}" for each in pairs]


def test_clicks_focus_pair_and_clear(visit):
    page = visit()
    buttons = page.locator(".strip button")
    for at in (10, 2, 2, 10):
        buttons.nth(at).click()
        rest(page)
    assert events(page) == selections((10, None), (10, (10, 2)), (10, None), (None, None))
    buttons.nth(10).click()
    buttons.nth(4).click(modifiers=["Shift"])
    rest(page)
    assert page.locator(".strip [aria-pressed=true]").all_inner_texts() == ["'", "it"]
    assert page.locator(".strip .hint").inner_text() == "it (10) → ' (4). Click either again, or press Esc, to clear."
    expect(page.locator(".view .hot")).to_have_text(["it", "'"])


def test_keyboard_walks_and_chooses(visit):
    page = visit()
    expect(page.locator(".strip button[tabindex='0']")).to_have_count(1)
    page.locator(".strip button").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    rest(page)
    for key in ("End", "Enter"):
        page.keyboard.press(key)
    rest(page)
    for _ in range(2):   # the pair goes first, then the token
        page.keyboard.press("Escape")
        rest(page)
    assert events(page) == selections((2, None), (2, (2, 15)), (2, None), (None, None))
    expect(page.locator(".strip button[tabindex='0']")).to_have_count(1)


def test_any_text_stays_text(visit):
    page = visit("case=tricky", width=390)
    texts = page.locator(".strip button").all_inner_texts()
    assert texts[1] == "␣" and "<b>x</b>" in texts and "U+0000" in texts and "שלום" in texts and "U+202Ertl" in texts
    assert page.locator(".strip b").count() == 0
    expect(page.locator(".strip button.unknown")).to_have_text(["[UNK]"])
    expect(page.locator(".strip button.special")).to_have_text(["[CLS]", "[SEP]"])
    expect(page.locator(".strip .word").nth(2).locator("button")).to_have_text(["The", "##re"])
    boxes = [each.bounding_box() for each in page.locator(".strip button").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] >= 24 and box["width"] >= 24
               for box in boxes)
