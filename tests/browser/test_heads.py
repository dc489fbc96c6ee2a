"""The page Heads in a real browser: what a user sees, clicks, types, links and exports."""
import json
import re
from urllib.parse import urlencode, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import expect

from clearhead.viz.style.text import menu, page_titles, strings
from tests import headline
from tests.browser.watch import PATIENCE, soon
from tools.first_screen import CONTROLS


@pytest.fixture
def open_page(watch):
    """Open a page with an open head."""
    def opener(path="/", width=1440, height=900, scheme="light", **params):
        opened = watch(width=width, height=height, scheme=scheme)
        opened.page.goto(opened.address + path + ("?" + urlencode(params) if params else ""))
        expect(opened.page.locator("h5", has_text="layer").first).to_be_visible(timeout=PATIENCE)
        return opened.rest()

    return opener


def head(seen) -> str:
    return seen.page.locator("h5", has_text="layer").first.inner_text(timeout=PATIENCE)


def ask(seen, text: str):
    """Type a text and return its field."""
    box = seen.page.get_by_role("textbox", name="Text", exact=True)
    box.fill(text)
    box.press("Control+Enter")
    return box


def test_start_shows_the_headline_case_and_its_twin(open_page):
    seen = open_page(width=1280, height=720)
    body = seen.main.inner_text()
    assert "layer 3 · head 1" in head(seen)
    for words in (f"3·1: it gives animal weight {headline.ANIMAL}, rank 1 of 72 heads",
                  f"animal {headline.ANIMAL} (wide {headline.ANIMAL_IN_WIDE})", f"(wide {headline.STREET_IN_WIDE})",
                  f"from {headline.SECOND_HEAD} to {headline.SECOND_HEAD_IN_WIDE} with wide"):
        assert words in body
    expect(seen.page.locator(".st-key-badge")).to_contain_text("✓ checked", timeout=PATIENCE)
    row = seen.page.locator(".st-key-head .label.down").get_by_text("it", exact=True).first
    expect(row).to_be_in_viewport(ratio=1)   # of a small laptop
    assert seen.main.get_by_test_id("stCode").count() == 0
    seen.main.get_by_test_id("stExpander").filter(has_text="Formula and code").locator("summary").click()
    expect(seen.main.get_by_test_id("stCode").filter(has_text="def softmax")).to_be_visible(timeout=PATIENCE)
    assert seen.main.locator(".katex").count() > 0
    seen.rest().page.get_by_role("radio", name="wide").click()
    expect(seen.page.get_by_text(f"(tired {headline.ANIMAL})")).to_be_visible(timeout=PATIENCE)
    assert "layer 3 · head 1" in head(seen.rest())
    expect(seen.main).to_contain_text(headline.ANIMAL_IN_WIDE)
    assert seen.page.get_by_role("textbox", name="Text", exact=True).input_value() == headline.WIDE


def test_refused_text_stays(open_page):
    seen = open_page()
    for text, sentence in (("   ", "The text is empty"), ("x " * 600_000, "the limit is 1,000,000")):
        box = ask(seen, text)
        expect(seen.page.locator("[data-testid=stAlert]").get_by_text(sentence)).to_be_visible(timeout=PATIENCE)
        expect(box).to_have_value(text)


def test_unknown_words_are_offered_to_a_model_that_reads_them(open_page, smollm2):
    seen = open_page(text="这个苹果很好吃。")
    expect(seen.main).to_contain_text("reads [UNK] for")
    seen.page.get_by_role("button", name="Open SmolLM2").click()
    seen.page.wait_for_url(f"**model={smollm2}**", timeout=PATIENCE)
    expect(seen.page.get_by_role("textbox", name="Text", exact=True)).to_have_value("这个苹果很好吃。")
    expect(seen.page.get_by_text("reads [UNK] for")).to_have_count(0, timeout=PATIENCE)


def test_open_head_exports_and_changes_by_mouse_and_keyboard(open_page, tmp_path):
    seen = open_page()
    seen.main.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Export").click()
    for suffix in ("PNG", "SVG", "PDF"):
        seen.page.get_by_role("combobox", name=strings("heads")["export_what"]).click()
        seen.page.get_by_role("option", name=re.compile(f"Head as a matrix: {suffix}")).click()
        seen.rest()
        with seen.page.expect_download(timeout=PATIENCE) as caught:
            seen.page.get_by_role("button", name=strings("heads")["export_save"], exact=True).click()
        path = tmp_path / caught.value.suggested_filename
        caught.value.save_as(path)
        assert path.stat().st_size > 2000 and "layer3-head1" in path.name
        if suffix == "PNG":
            provenance = next(json.loads(text) for text in Image.open(path).text.values() if text.startswith("{"))
            assert provenance["layer"] == 3 and provenance["head"] == 1 and "tired" in provenance["text"]
    seen.page.keyboard.press("Escape")
    canvas = seen.page.locator(".st-key-grid canvas").first
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 0.7, "y": box["height"] * 0.3})
    expect(seen.page.locator("h5", has_text="layer 3 · head 1")).to_have_count(0, timeout=PATIENCE)
    layer, number = map(int, re.findall(r"\d+", head(seen.rest())))
    assert f"layer={layer}" in seen.page.url and f"head={number}" in seen.page.url
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator("h5", has_text=f"layer {layer + 1} · head {number}")).to_be_visible(timeout=PATIENCE)


def test_typed_sentence_opens_on_its_pronoun(open_page):
    seen = open_page()
    ask(seen, "The lawyer thanked the nurse because she was kind.")
    expect(seen.page.locator(".st-key-strip").get_by_text("lawyer")).to_be_visible(timeout=PATIENCE)
    assert "lawyer" in seen.rest().page.url
    seen.main.get_by_text(strings("heads")["first"]).click()
    strip, said = seen.page.locator(".st-key-strip"), seen.main.locator("p", has_text="Equal weights would be").first
    expect(strip.locator(".from")).to_have_text("she")
    expect(seen.page.locator(".st-key-head .hot.from")).to_have_text("she")
    expect(said).to_contain_text("she looks most at")
    opened = head(seen)
    strip.get_by_role("button", name="kind, position").click()
    expect(said).to_contain_text("kind looks most at", timeout=PATIENCE)
    assert seen.rest().params()["token"] == ["9"] and seen.params()["pair"] == [""], "a first click makes no pair"
    assert head(seen) == opened
    canvas = seen.page.locator(".st-key-head .matrix > canvas")
    canvas.click(position={"x": 50, "y": 100}, force=True)
    expect(seen.main.get_by_text("Heads by weight from")).to_be_visible(timeout=PATIENCE)
    assert head(seen.rest()) == opened, "nor does a cell of the matrix"
    seen.page.keyboard.press("Escape")
    expect(seen.main.get_by_text("neighbours left out").first).to_be_visible(timeout=PATIENCE)
    assert head(seen.rest()) == opened, "nor Escape"
    offer = seen.main.get_by_role("button", name=re.compile(r"Open \d+·\d+: "))
    layer, number = map(int, re.findall(r"\d+", offer.inner_text())[:2])
    offer.click()
    expect(seen.page.locator("h5", has_text=f"layer {layer} · head {number}")).to_be_visible(timeout=PATIENCE)
    expect(offer).to_have_count(0)


def test_presented_head_fits_projector_and_arrows_need_figures(open_page):
    seen = open_page("/heads", width=1366, height=768, present=1)
    box = seen.page.locator(".st-key-head .matrix > canvas").bounding_box()
    leave = seen.page.get_by_role("button", name=strings("present")["leave"]).bounding_box()
    assert box["y"] + box["height"] <= min(leave["y"], 768), "it hides no picture"
    seen.page.keyboard.press("ArrowRight")
    assert "layer 3 · head 1" in head(seen.rest()) and urlsplit(seen.page.url).path == "/heads"
    seen.page.keyboard.press("Escape")
    expect(seen.page.get_by_test_id("stTopNavLink").first).to_be_visible(timeout=PATIENCE)
    assert urlsplit(seen.rest().page.url).path == "/heads"


@pytest.mark.parametrize(("path", "pictures"), [("/", ".st-key-grid canvas, .st-key-head canvas"),
                                                ("/softmax", ".clearhead-chart .main-svg")])
def test_paper_has_whole_pictures_and_no_sidebar(watch, path, pictures):
    seen = watch()
    seen.page.goto(seen.address + path)
    expect(seen.page.locator(pictures).first).to_be_visible(timeout=PATIENCE)
    seen.rest().page.emulate_media(media="print")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    seen.page.set_viewport_size({"width": 703, "height": 1000})   # A4 without its margins
    for hidden in ("stSidebar", "stHeader", "stToolbar"):
        assert all(not each.is_visible() for each in seen.page.get_by_test_id(hidden).all())
    boxes = [each.bounding_box() for each in seen.page.locator(pictures).all() if each.is_visible()]
    assert boxes and all(box["x"] >= 0 and box["x"] + box["width"] <= 703 for box in boxes), boxes
    assert seen.page.pdf(format="A4").startswith(b"%PDF")


def test_score_is_split_by_its_writers(open_page):
    seen = open_page()
    seen.main.get_by_test_id("stExpander").filter(has_text=strings("heads")["sections"]["why"]).locator("summary").click()
    claim = seen.main.get_by_text("the score before the softmax is").first
    expect(claim).to_be_visible(timeout=PATIENCE)
    score, total = re.search(r"softmax is ([\d.]+)\. .* sum to ([\d.]+) \(", claim.inner_text()).groups()
    assert float(score) == pytest.approx(float(total), abs=1e-3)
    expect(seen.main.locator(".st-key-chart-heads-why-matrix .main-svg").first).to_be_visible(timeout=PATIENCE)
    seen.rest().main.locator(".st-key-why-writer button").first.click()
    expect(seen.page.locator("h5", has_text="layer").first).not_to_contain_text("layer 3 · head 1", timeout=PATIENCE)


def test_text_runs_right_to_left_and_warns_of_unknown_words(open_page):
    seen = open_page(text="החיה לא 他喝 בחוץ", lens="text")
    for tokens in (".st-key-strip button.token:not(.special)", ".st-key-head .words .token:not(.special)"):
        expect(seen.page.locator(tokens).first).to_be_visible(timeout=PATIENCE)
        across = seen.page.locator(tokens).evaluate_all("all => all.map((each) => each.getBoundingClientRect().x)")
        assert across == sorted(across, reverse=True) and len(across) > 8
    expect(seen.main.get_by_text("reads [UNK] for 2 of")).to_have_count(1)
    strip = seen.page.locator(".st-key-strip button.token")
    strip.nth(2).click()
    seen.rest().page.keyboard.press("ArrowLeft")
    expect(strip.nth(3)).to_be_focused()


FOCUSED = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const { top, bottom } = at.getBoundingClientRect();
  return [main.contains(at) || !!at.closest("[role=dialog]"), at.matches(":focus-visible"), top > 50 || bottom > 150];
}"""


def test_keyboard_reaches_menus_and_keeps_the_focus(open_page):
    """In a window of half the size, as at a zoom of 200 %."""
    seen = open_page(width=720, height=450)
    keys = seen.page.keyboard
    display, predict = seen.main.get_by_role("button", name="Display"), strings("predict")
    display.focus()
    keys.press("Enter")
    first = seen.page.get_by_role("combobox", name="Sort by")
    expect(first).to_be_visible()
    keys.press("Tab")
    expect(first).to_be_focused()
    keys.press("Shift+Tab")
    expect(display).to_be_focused()
    keys.press("Escape")
    board = seen.main.locator(".st-key-head .board")
    board.focus()
    for _ in range(16):
        keys.press("ArrowDown")
    band = seen.main.locator(".st-key-head .band.across").bounding_box()
    assert band["y"] > 0 and band["y"] + band["height"] <= 450
    for _ in range(16):
        keys.press("ArrowUp")
    assert seen.main.locator(".st-key-head .band.across").bounding_box()["y"] > 56
    seen.main.get_by_role("button", name=predict["title"]).focus()
    keys.press("Enter")
    board = seen.main.locator(".st-key-covered .board")
    expect(board).to_be_visible(timeout=PATIENCE)
    assert seen.rest().page.evaluate(FOCUSED) == [True, True, True]
    board.focus()
    keys.press("Enter")
    for key in ("ArrowDown", "ArrowRight", "Enter", "Tab", "Tab"):
        keys.press(key)
    place = seen.main.evaluate("main => main.scrollTop")
    keys.press("Enter")
    expect(seen.main.get_by_text("0 marked")).to_be_visible()
    expect(board).to_be_focused()
    assert seen.main.evaluate("main => main.scrollTop") == place


def test_missing_model_leaves_the_page_and_links_to_the_last(open_page):
    seen, sidebar = open_page(), "[data-testid=stSidebar]"
    field = seen.page.locator(sidebar).get_by_role("textbox", name=strings("frame")["add"])
    seen.page.locator(sidebar).get_by_text(strings("frame")["more"], exact=True).click()
    for typed, said in (("my-own-thing", "There is no model named my-own-thing"),
                        ("owner/thing", "owner/thing is not on this disk.")):
        field.fill(typed)
        field.press("Enter")
        expect(seen.page.locator(sidebar).get_by_text(said)).to_be_visible(timeout=PATIENCE)
        assert "layer 3" in head(seen.rest()) and "model" not in seen.params()
    seen.page.goto(seen.address + "/heads?model=my-own-thing")
    seen.main.get_by_role("button", name="Open all-MiniLM-L6-v2").click()
    assert "layer" in head(seen.rest()) and "model" not in seen.params()


def test_newcomer_sees_six_words_and_at_most_28_controls(open_page):
    seen = open_page()
    expect(seen.page.locator(".st-key-head [data-drawn]").first).to_be_visible(timeout=PATIENCE)
    seen.page.mouse.move(1400, 880)   # a pointer over the sidebar shows the button that folds it
    found = seen.rest().page.evaluate(CONTROLS)
    assert len(found) <= 28, found
    words = seen.page.get_by_test_id("stTopNavLink")
    assert words.all_inner_texts() == [page_titles()[word] for word in menu()]
    seen.follow_menu("softmax")
    bold = "all => all.filter((a) => getComputedStyle(a.firstChild).fontWeight === '600').map((a) => a.innerText)"
    soon(lambda: words.evaluate_all(bold), [page_titles()["lessons"]])
