"""Every lesson page in a real browser: each kind of control moves, the link brings the state back, and nothing goes
wrong unseen."""
import re
import time
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE, Watch
from tests.leaks import given_away
from viz.page import pages
from viz.state import State
from viz.text import strings
from viz.widgets.lesson import lessons

# what a page may hold, and how it is moved: a key for those that one focuses, a click for the others
KINDS = {"handle": (".drag [role=slider]", "ArrowUp"), "cell": (".cells button", "Space"),
         "box": (".block [aria-checked=true]", "ArrowUp"),
         "sketch": (".sketch [role=slider]", "ArrowUp"),
         "slider": ("input[type=range]", "ArrowLeft"),
         "choice": (".stElementContainer:not([class*=st-key-tabs-]) [data-testid=stButtonGroup] "
                    "[role=radio]:not([aria-checked=true])", None),
         "pill": ("button[data-variant=pills]", None),
         "switch": ("[role=switch]", "Space")}


PICTURE = ".clearhead-chart[data-drawn], .story .row"   # without which a lesson is not drawn yet


def answered(name: str) -> str:
    """The page's address with its prompt answered and everything switched on, so that every control and picture is
    there."""
    page, prose = pages()[name][0], strings(f"lessons/{name}")
    on = {each.name: "1" for each in page.controls if each.start is False}
    right = {table: "abcd"[each["right"]] for table, each in prose.items()
             if isinstance(each, dict) and isinstance(each.get("right"), int)}
    return f"/{name}?" + urlencode(on | {"guess": right["predict"]}
                                   | {each.name: "a" for each in page.controls if each.name.startswith("guess_")})


@pytest.mark.parametrize("name", lessons())
def test_a_lesson_moves_its_link_brings_the_state_back_on_any_screen_and_it_asks_before_it_tells(watch, name):
    seen, prose = watch(answered(name)), strings(f"lessons/{name}")
    expect(seen.main.locator("h2").first).to_have_text(prose["question"])
    assert drawn_twice(seen) == []
    assert below_the_screen(seen) == []
    every_control_moves(seen)
    nothing_sticks_out(seen)
    wanted, link, pictures = seen.params(), urlsplit(seen.page.url), drawn(seen)
    seen.page.set_viewport_size({"width": 390, "height": 900})
    seen.page.emulate_media(color_scheme="dark")
    assert seen.open(f"{link.path}?{link.query}").params() == wanted
    nothing_sticks_out(seen)
    expect_pictures(seen, pictures)
    why = re.split(r"[*_$`]", prose["predict"]["answers"][0]["why"])[0].strip()
    seen.main.locator(".st-key-again-guess button").click()
    expect(seen.main.get_by_text(why[:40])).to_have_count(0, timeout=PATIENCE)
    assert why not in seen.rest().main.inner_text() and "guess" not in seen.params()
    assert given_away(prose["predict"], beside_the_question(seen)) == []
    seen.main.locator(".st-key-predict-guess label[data-testid=stRadioOption], .st-key-predict-guess "
                      "[data-testid=stRadio] label").last.click()
    expect(seen.main.get_by_text(why[:40]).first).to_be_visible(timeout=PATIENCE)
    assert "guess" in seen.rest().params()


def below_the_screen(seen: Watch) -> list:
    """What of a lesson's first section, its pictures, what moves them and what to notice, a screen of 1440 × 900 does
    not show without scrolling; with the question answered, which takes more room than asked."""
    return seen.page.evaluate("""() => {
        const shown = 'h3, .clearhead-chart, [data-testid^=stBidiComponent], [data-testid=stSlider], '
            + '[data-testid=stButtonGroup]:not([class*=st-key-proof-] *), [class*=st-key-notices-]';
        const first = document.querySelector('[data-testid=stMain] [class*=st-key-section-]');
        const parts = [...first.querySelectorAll(shown)].filter((each) => each.getClientRects().length);
        if (!parts.length) return ['nothing is shown'];
        return parts.map((each) => [Math.ceil(each.getBoundingClientRect().bottom), each.className])
            .filter(([bottom]) => bottom > 900);
    }""")


def beside_the_question(seen: Watch) -> str:
    """The words and numbers of the page and its charts, without the box of the question."""
    text = seen.main.evaluate("""(main) => {
        const boxes = [...main.querySelectorAll('[class*=st-key-predict-]')];
        boxes.forEach((box) => { box.hidden = true; box.style.display = 'none'; });
        const text = main.innerText;
        boxes.forEach((box) => { box.hidden = false; box.style.display = ''; });
        return text;
    }""")
    return "\n".join([text, *drawn(seen)])


def drawn(seen: Watch) -> list[str]:
    """The numbers and words of every chart that the browser shows, without its colours and sizes. Which of a matrix'
    numbers are black is a matter of colour, so those of its two heatmaps are put together."""
    return seen.rest().page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stMain] .js-plotly-plot')].map((chart) => {
        const maps = chart.data.filter(({ type, text }) => type === 'heatmap' && text);
        const cell = (i, j) => maps.map(({ text }) => text[i][j]).join('').trim();
        const cells = maps[0]?.text.map((row, i) => row.map((_, j) => cell(i, j)));
        const traces = chart.data.map(({ type, name, x, y, z, text }) =>
            [name, x, y, z, type === 'heatmap' ? null : text]);
        return JSON.stringify([traces, cells, (chart.layout.annotations ?? []).map(({ text }) => text)]);
    })""")


def drawn_twice(seen: Watch) -> list[str]:
    """The charts whose margins were too small for the names of their axes, so that plotly drew them again, which takes
    as long once more."""
    expect(seen.main.locator(PICTURE).first).to_be_visible(timeout=PATIENCE)
    return seen.rest().page.evaluate("""() => [...document.querySelectorAll('.clearhead-chart.js-plotly-plot')]
        .filter((chart) => chart._fullLayout._redrawFromAutoMarginCount !== undefined)
        .map((chart) => chart.closest('[class*=st-key-chart-]').className)""")


def test_a_chart_that_is_drawn_twice_is_noticed(watch):
    seen = watch("/softmax")
    assert drawn_twice(seen) == []
    seen.page.evaluate("() => Plotly.relayout(document.querySelector('.clearhead-chart.js-plotly-plot'), {'margin.l': "
                       "0})")
    assert len(drawn_twice(seen)) == 1


def expect_pictures(seen: Watch, pictures: list[str]) -> None:
    """Controls that were moved have led to what their link shows a newcomer: no chart kept what it showed before."""
    end = time.perf_counter() + PATIENCE / 1000
    while (found := drawn(seen)) != pictures and time.perf_counter() < end:
        seen.page.wait_for_timeout(200)
    assert [one[:300] for one, other in zip(found, pictures, strict=True) if one != other] == []


def every_control_moves(seen: Watch) -> None:
    """One control of each kind; a switch twice, so that what it shows is there again."""
    for selector, key in KINDS.values():
        found = seen.main.locator(selector)
        for _ in range(min(found.count(), 1) * (2 if selector == KINDS["switch"][0] else 1)):
            before = seen.page.url
            if key:
                found.first.focus()
                seen.page.keyboard.press(key)
            else:
                found.first.click()
            # these may stand at their end, or choose what is not in the URL
            if selector not in (KINDS["choice"][0], KINDS["slider"][0]):
                seen.page.wait_for_function("before => location.href !== before", arg=before, timeout=PATIENCE)
            seen.rest().fine()


def nothing_sticks_out(seen: Watch) -> None:
    expect(seen.main.locator(PICTURE).first).to_be_visible(timeout=PATIENCE)
    seen.page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth",
                                timeout=PATIENCE)
    seen.fine()


def test_controls_leave_the_url_with_their_page_and_come_back_with_it_and_a_box_of_the_figure_opens_its_lesson(watch):
    name = lessons()[-1]
    seen = watch(f"/{name}?guess=a")
    seen.follow_menu("lessons")
    expect(seen.main.get_by_text(strings("lesson")["start"]["question"])).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {}
    box = seen.main.locator(".anatomy .door", has_text="√d_k").first
    box.hover()
    expect(seen.main.locator(".anatomy .hint")).to_contain_text("Why divide by √d_k")
    box.click()
    expect(seen.main.locator("h2", has_text=strings("lessons/scale")["question"])).to_be_visible(timeout=PATIENCE)
    assert urlsplit(seen.rest().page.url).path == "/scale"
    seen.follow_menu(name)
    expect(seen.main.locator("h2", has_text=strings(f"lessons/{name}")["question"])).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {"guess": ["a"]}


def test_every_step_inside_a_head_draws_its_picture_and_says_its_numbers(watch):
    seen = watch("/inside?guess=a")
    seen.main.get_by_text(strings("lessons/inside")["widgets"]["strips"]).click()
    for name, prose in strings("lessons/inside")["steps"].items():
        seen.main.get_by_role("radio", name=re.compile(f"\\d {re.escape(prose['short'])}$")).click()
        expect(seen.main.get_by_role("heading", name=prose["title"])).to_be_visible(timeout=PATIENCE)
        told = max(re.split(r"\{[^}]*\}|[*_$`]+", prose["says"]), key=len).strip()
        expect(seen.main.get_by_text(told[:50]).first).to_be_visible(timeout=PATIENCE)
        assert seen.rest().params()["step"] == [name] if name != "in" else "step" not in seen.rest().params()
        seen.fine()


def test_another_head_or_step_leaves_the_chart_where_it_stands(watch):
    seen = watch("/inside?guess=a&step=softmax")
    expect(seen.main.locator(".st-key-chart-inside-keys .clearhead-chart[data-drawn]")).to_be_visible(timeout=PATIENCE)
    before = seen.page.evaluate("""() => {
        const chart = document.querySelector('.st-key-chart-inside-keys .clearhead-chart');
        chart.dataset.same = 1;
        return JSON.stringify(chart.data[0].y);
    }""")
    seen.main.locator(".st-key-section-journey [data-testid=stSelectbox] input").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        seen.page.keyboard.press(key)
    seen.page.wait_for_function(
        "before => JSON.stringify(document.querySelector('.clearhead-chart[data-same]').data[0].y) !== before",
                                arg=before, timeout=PATIENCE)
    seen.rest().main.get_by_role("button", name="←").click()
    seen.page.wait_for_function(
        "() => document.querySelector('.clearhead-chart[data-same]')._context.toImageButtonOptions.filename"
                                " === 'clearhead-inside-mask'", timeout=PATIENCE)
    expect(seen.rest().main.locator(".st-key-chart-inside-keys .clearhead-chart[data-same]")).to_have_count(1)
    seen.fine()


def test_a_handle_is_dragged_a_figure_is_taken_away_and_fills_the_screen_and_the_code_is_the_very_function(
    watch, tmp_path):
    seen = watch("/softmax?guess=b")
    a_handle_is_dragged_and_its_link_is_offered(seen)
    a_figure_is_taken_away_in_every_format_and_its_own_camera_saves_what_was_chosen(seen, tmp_path)
    a_chart_changes_where_it_stands_and_fills_the_screen_and_shrinks_again(seen)
    the_buttons_of_a_chart_cover_neither_it_nor_its_tools(seen)
    seen.main.get_by_role("radio", name=strings("lesson")["tabs"]["code"]).first.click()
    code = seen.main.locator("[data-testid=stCode]").first
    expect(code).to_contain_text("def softmax_rows(", timeout=PATIENCE)
    expect(code).to_contain_text("# weights: float64 (161, 5)")   # the shapes now


def test_a_presented_lesson_does_not_say_what_it_builds_on_where_it_shows_no_button_to_it(watch):
    words = strings("lesson")
    seen = watch("/scale")
    expect(seen.main.get_by_text(words["builds_on"])).to_be_visible(timeout=PATIENCE)
    assert words["builds_on"] not in seen.open("/scale?present=1").main.inner_text()


def a_handle_is_dragged_and_its_link_is_offered(seen: Watch) -> None:
    dot = seen.main.locator(".drag circle").first
    dot.scroll_into_view_if_needed()
    box = dot.bounding_box()
    seen.page.mouse.move(box["x"] + 7, box["y"] + 7)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 7, box["y"] - 40, steps=5)
    seen.page.mouse.up()
    expect(seen.main.locator(".drag [role=slider]").first).not_to_have_attribute("aria-valuetext", "3.00")
    seen.page.wait_for_function("() => location.search.includes('z=')", timeout=PATIENCE)
    assert float(seen.rest().params()["z"][0].split(",")[0]) > 4
    seen.main.get_by_role("button", name=strings("lesson")["link"]).click()
    link = seen.page.locator("[data-testid=stPopoverBody] code")
    expect(link).to_be_visible()
    assert parse_qs(urlsplit(link.inner_text()).query, keep_blank_values=True) == {
        "model": [State().model], "text": [State().text]} | seen.params()
    seen.page.keyboard.press("Escape")


def a_figure_is_taken_away_in_every_format_and_its_own_camera_saves_what_was_chosen(seen: Watch, tmp_path) -> None:
    save = seen.main.get_by_role("button", name="Save").first
    save.click()
    # no PDF: a server for strangers that runs as root offers none
    for suffix, start in {"html": b"<!doctype html>", "csv": b"series,temperature t,weight p,value"}.items():
        with seen.page.expect_download(timeout=PATIENCE) as caught:
            seen.page.get_by_role("button", name=suffix.upper(), exact=True).first.click()
        caught.value.save_as(tmp_path / "figure")
        assert caught.value.suggested_filename == f"clearhead-softmax-curves.{suffix}"
        assert start in (tmp_path / "figure").read_bytes()[:200].lower()
    chart = seen.main.locator(".clearhead-chart[data-drawn]").first
    for suffix in ("svg", "png"):
        seen.main.locator(".st-key-open-save-softmax-curves").get_by_role("radio", name=suffix.upper()).click()
        seen.rest()
        assert photographed(seen, chart, f"clearhead-softmax-curves.{suffix}")


def a_chart_changes_where_it_stands_and_fills_the_screen_and_shrinks_again(seen: Watch) -> None:
    chart = seen.main.locator(".st-key-chart-softmax-curves .clearhead-chart[data-drawn]")
    before = chart.evaluate("chart => (chart.dataset.same = 1, JSON.stringify(chart.data[0].y))")
    seen.main.get_by_role("button", name=strings("lessons/softmax")["widgets"]["presets"]["tie"]).click()
    seen.page.wait_for_function(
        "before => JSON.stringify(document.querySelector('.clearhead-chart[data-same]').data[0].y) !== before",
                                arg=before, timeout=PATIENCE)
    low = chart.bounding_box()["height"]
    for full in (True, False):
        chart.hover()
        chart.locator(f"[data-title='{strings('lesson')['full_screen']}']").click()
        seen.page.wait_for_function("([low, full]) => (document.querySelector('.clearhead-chart "
                                    ".main-svg').clientHeight > low) === full",
                                    arg=[low, full], timeout=PATIENCE)
    seen.fine()


def the_buttons_of_a_chart_cover_neither_it_nor_its_tools(seen: Watch) -> None:
    wide = seen.page.viewport_size
    for width in (390, wide["width"]):
        seen.page.set_viewport_size(wide | {"width": width})
        figure = seen.main.locator(".st-key-chart-softmax-curves")
        seen.page.wait_for_function("width => document.querySelector('.st-key-chart-softmax-curves "
                                    ".main-svg').clientWidth < width", arg=width)
        chart, own, keep = (figure.locator(part).bounding_box() for part in (".clearhead-chart", ".modebar", ".keep"))
        assert own["y"] >= chart["y"] + chart["height"] and own["x"] + own["width"] <= keep["x"]


def photographed(seen: Watch, chart, name: str, seconds: float = PATIENCE / 1000) -> bool:
    """Whether the figure's own camera saves under this name, once the page has been drawn with what was chosen."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        chart.hover()
        with seen.page.expect_download(timeout=PATIENCE) as caught:
            chart.locator("[data-title*='Download plot']").click()
        if caught.value.suggested_filename == name:
            return True
    return False
