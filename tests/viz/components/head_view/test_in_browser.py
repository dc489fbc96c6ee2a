"""The open head in a real browser: its numbers equal numpy's, and selections are sent."""
import numpy as np
from playwright.sync_api import expect

from tests import fabricate
from tests.viz.components.conftest import events, rest, runs
from viz.components.files import address

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
    weights = fabricate.shown(fabricate.patterned(fabricate.repeating(2048), heads=(2,))).weights
    row, column = np.unravel_index(weights.argmax(), weights.shape)
    seen = page.locator(".view .matrix > canvas").evaluate(
        """(canvas, [row, column]) => {
            const at = (place, side) => Math.floor((place + 0.5) * side / 2048);
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
