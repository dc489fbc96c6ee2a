"""The HTML handout, from a file and offline, behaves like the app's views and runs only its own code."""
import io
import re

import pypdf
import pytest
from playwright.sync_api import expect

from clearhead.viz.export.handout.files import Handout, make_words
from clearhead.viz.export.handout.page import page
from clearhead.viz.style.theme import DARK, INK
from tests import fabricate
from tests.fabricate import items

SHOWN = fabricate.shown(fabricate.patterned(fabricate.tokens(), heads=(12,) * 6), layer=0, head=0)


@pytest.fixture
def opened(from_file):
    """opened(handout) shows its page once its heads are drawn."""
    def go(handout: Handout, hash: str = "", javascript: bool = True):
        shown = from_file(page(handout), hash, java_script_enabled=javascript)
        if javascript and any(item.kind == "head_view" for item in handout.items):
            shown.wait_for_selector(".ch.view[data-drawn]")
        return shown

    return go


def cell(shown, row: int, column: int) -> tuple[float, float]:
    box = shown.locator(
        "figure.now .view .matrix > canvas, main > figure:first-child .view .matrix > canvas").first.bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / 16, box["y"] + (row + 0.5) * box["height"] / 16


def says(shown, row: int, column: int) -> None:
    """The tooltip over a cell has numpy's numbers."""
    shown.mouse.move(*cell(shown, row, column))
    tip = shown.locator(".view .tip").first
    expect(tip.locator("b")).to_have_text(f"{fabricate.SENTENCE[row]} ({row}) → {fabricate.SENTENCE[column]} "
                                          f"({column})")
    rows = dict(line.locator("span").all_inner_texts() for line in tip.locator("div").all())
    assert abs(float(rows["weight"]) - SHOWN.weights[row, column]) <= 0.00052
    assert abs(float(rows["score before softmax"]) - SHOWN.scores[row, column]) <= 0.0052


def test_live_view_works_offline(opened):
    shown = opened(Handout("Heads", (items.head(), items.grid(), items.head(number=5, lens="lines"))))
    for row, column in [(0, 0), (10, 2), (3, 14)]:
        says(shown, row, column)
    shown.mouse.click(*cell(shown, 3, 14))
    figure = shown.locator("figure").first
    figure.get_by_text("text", exact=True).click()
    words = figure.locator(".view .words .token")
    words.first.wait_for()
    assert words.all_inner_texts() == fabricate.SENTENCE, "what was chosen stays"
    assert figure.locator(".token.from").inner_text() == "didn", "what was chosen stays"
    words.nth(10).click()
    figure.get_by_text("lines", exact=True).click()
    figure.locator(".view[data-drawn$=lines]").wait_for()
    expect(figure.locator(".label.hot.from")).to_have_text("it")
    figure.get_by_text("matrix", exact=True).click()
    figure.get_by_text("transpose").click()
    shown.wait_for_timeout(100)
    expect(figure.locator(".say")).to_contain_text("column = the token that looks")
    expect(figure.get_by_text("Open this state in Clearhead")).to_have_attribute(
        "href", "https://attention.example.org/heads?layer=0")
    grid = shown.locator(".ch.grid")
    grid.scroll_into_view_if_needed()
    spot = grid.locator("canvas").bounding_box()
    shown.mouse.move(spot["x"] + float(grid.get_attribute("data-left")) + 5, spot["y"] + 25)
    expect(grid.locator(".tip b")).to_have_text("layer 0 · head 0")
    pitch = float(grid.get_attribute("data-pitch"))
    shown.mouse.click(spot["x"] + float(grid.get_attribute("data-left")) + 5.4 * pitch, spot["y"] + 25)
    shown.wait_for_function(
        "() => document.querySelectorAll('figure')[2].getBoundingClientRect().top < innerHeight / 2")


def test_covered_head_is_marked_and_revealed(opened):
    shown = opened(Handout("All", (items.covered(), items.table())))
    head = shown.locator("figure").first
    pixel = """([row, column]) => {
        const canvas = document.querySelector('figure .live').shadowRoot.querySelector('.matrix > canvas');
        const pen = new OffscreenCanvas(1, 1).getContext('2d'), at = (share, side) => -Math.round(share * side / 16);
        pen.drawImage(canvas, at(column + 0.5, canvas.width), at(row + 0.35, canvas.height));
        return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).join(); }"""
    best = SHOWN.weights[3].argsort()[::-1][:2].tolist()
    assert shown.evaluate(pixel, [3, best[0]]) == "255,255,255", "no number is drawn before"
    for column in (best[0], 14):
        shown.mouse.click(*cell(shown, 3, column))
    head.get_by_role("button", name="Reveal").click()
    expect(head.locator(".legend .guess")).to_be_visible()
    assert shown.evaluate(pixel, [3, best[0]]) != "255,255,255"
    head.get_by_text("square root").click()
    expect(head.locator(".legend .guess")).to_be_visible()
    table = shown.locator("figure[data-kind=table]")
    for wanted in (["1·0", "0·2", "1·1"], ["0·2", "1·0", "1·1"]):
        table.get_by_role("button", name="fit").click()
        expect(table.locator("td:first-child")).to_have_text(wanted)
    expect(table.locator("th")).to_have_text(["head", "fit", "<b>"])


def test_presentation_fills_the_screen_and_steps(opened):
    shown = opened(Handout("Heads", (items.head(), items.grid(), items.curve())))
    before = shown.locator(".view .label.down").first.bounding_box()["height"]
    shown.keyboard.press("p")
    shown.wait_for_timeout(300)
    expect(shown.locator("header")).to_be_hidden()
    expect(shown.locator(".choices").first).to_be_hidden()
    assert shown.locator(".view .label.down").first.bounding_box()["height"] > 1.5 * before
    says(shown, 10, 2)
    says(shown, 15, 15)
    edge = shown.locator("figure.now figcaption").bounding_box()
    assert edge["y"] + edge["height"] <= 900, "picture and caption fit the screen"
    for key, place in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowRight", 3), ("ArrowLeft", 2)):
        shown.keyboard.press(key)
        assert shown.locator(".place").inner_text() == f"{place} of 3" and shown.url.endswith(f"#present={place}")
    shown.keyboard.press("Escape")
    assert shown.locator("header").is_visible() and "#" not in shown.url
    chart = opened(Handout("Chart", (items.squares(),)), "#present")
    chart.wait_for_selector("g.hm image")
    box = chart.locator("figure.now .main-svg").first.bounding_box()
    assert box["x"] + box["width"] <= 1200 and box["y"] + box["height"] <= 860, box
    image = chart.locator("g.hm image").first
    assert image.evaluate("image => getComputedStyle(image).imageRendering") == "pixelated"
    cells = image.bounding_box()
    chart.mouse.move(cells["x"] + 4.5 / 6 * cells["width"], cells["y"] + 1.5 / 4 * cells["height"])
    chart.wait_for_selector(".hoverlayer .hovertext")
    assert f"{items.NUMBERS[1, 4]:.4g}" in chart.locator(".hoverlayer .hovertext").text_content()


def test_printed_pictures_are_shown_without_scripts(opened):
    plain = opened(Handout("x", (items.head(),)), javascript=False)
    assert plain.locator("img.paper").is_visible()
    assert not plain.locator(".live").is_visible()


def test_presentation_is_dark_and_prints_white(opened):
    shown = opened(Handout("Class", (items.head(), items.curve())), "#present=1")
    shown.set_viewport_size({"width": 1366, "height": 768})
    shown.wait_for_function("document.querySelector('figure.now .live').getBoundingClientRect().height > 500")
    picture, caption = (shown.locator(f"figure.now {part}").bounding_box() for part in (".live", "figcaption"))
    assert picture["x"] + picture["width"] <= caption["x"] and caption["x"] + caption["width"] > 0.9 * 1366
    shown.keyboard.press("ArrowRight")
    shown.wait_for_selector("figure.now .xtitle")
    look = """() => [document.body, document.querySelector('figure.now .live')].map((each) =>
        getComputedStyle(each)).map(({ backgroundColor, filter }) => [backgroundColor, filter])"""
    assert shown.evaluate(look) == [["rgb(255, 255, 255)", "none"]] * 2
    shown.emulate_media(color_scheme="dark")
    page, figure = shown.evaluate(look)
    assert page[0] == "rgb(20, 20, 20)" and figure[1] == "invert(0.92) hue-rotate(180deg)"
    shown.emulate_media(color_scheme="dark", media="print")
    assert shown.evaluate(look) == [["rgb(255, 255, 255)", "none"]] * 2


def test_dark_page_inverts_figures_drawn_in_the_light_theme_but_no_photograph(opened):
    shown = opened(Handout("Dark", (items.head(), items.picture(), items.photos())))
    shown.emulate_media(color_scheme="dark")
    shown.reload()
    shown.wait_for_selector(".ch.view[data-drawn]")
    inks = shown.locator(".ch").evaluate_all("all => all.map((root) => root.style.getPropertyValue('--ink'))")
    assert inks == [INK, DARK[INK], DARK[INK]]
    filters = shown.locator(".live").evaluate_all("all => all.map((each) => getComputedStyle(each).filter)")
    assert [each == "none" for each in filters] == [False, True, True]


def test_print_is_vector_graphics(opened):
    """The only image on paper is the colour bar."""
    asked = make_words("question", "What do the weights of a row sum to?", answer="To one.")
    shown = opened(Handout("Print", (items.head(), asked)))
    reader = pypdf.PdfReader(io.BytesIO(shown.pdf(prefer_css_page_size=True)))
    assert _strokes(reader.pages[0]) > 150
    sizes = [(image.image.width, image.image.height) for image in reader.pages[0].images]
    assert all(min(size) < 16 for size in sizes), sizes
    text = "".join(each.extract_text() for each in reader.pages)
    assert "sum to?" in text and "To one." not in text
    covered, others = (pypdf.PdfReader(io.BytesIO(opened(Handout("Paper", made)).pdf()))
                       for made in ((items.covered(),), (items.grid(), items.change())))
    assert _strokes(covered.pages[0]) < 100, "a covered head is paper to be marked"
    assert all(min(image.image.size) < 16 for each in others.pages
               for image in each.images), "thumbnails and differences are shapes"
    assert "Figure 1." in text and "animal" in text and "https://attention.example.org/heads?layer=0" in text


def _strokes(at) -> int:
    """Return the number of lines drawn."""
    return len(re.findall(rb"\sl\b", b"\n".join(part.get_object().get_data() for part in _streams(at))))


def _streams(at):
    """Return the content of the page and of its forms."""
    found = [at["/Contents"]] if "/Contents" in at else []
    for each in (at.get("/Resources", {}).get_object().get("/XObject") or {}).values():
        form = each.get_object()
        if form.get("/Subtype") == "/Form":
            found += [form, *_streams(form)]
    return found


def test_page_runs_its_own_scripts_alone():
    content = page(Handout("One", (items.head(),)))
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', content)[1]
    assert policy.startswith(b"default-src 'none'; script-src 'sha256-") and b"connect" not in policy
    assert b"unsafe-inline'; img" in policy
