"""Lessons in a real browser: the menu, the Transformer's figure, and everything that one figure can do."""
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from clearhead.viz.app.page import lessons
from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE, Watch


def test_controls_stay_with_their_page_and_boxes_open_lessons(watch):
    name = lessons()[-1]
    seen = watch(f"/{name}?guess=a")
    seen.follow_menu("lessons")
    expect(seen.main.get_by_text(strings("lesson")["start"]["question"])).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {}
    box = seen.main.locator(".diagram .door", has_text="√d_k").first
    expect(box.locator("rect").first).not_to_have_css("fill", "rgb(0, 0, 0)")   # drawn in the theme's colours
    box.hover()
    expect(seen.main.locator(".diagram .hint")).to_contain_text("Why divide by √d_k")
    box.click()
    expect(seen.main.locator("h2", has_text=strings("lessons/scale")["question"])).to_be_visible(timeout=PATIENCE)
    assert urlsplit(seen.rest().page.url).path == "/scale"
    seen.follow_menu(name)
    expect(seen.main.locator("h2", has_text=strings(f"lessons/{name}")["question"])).to_be_visible(timeout=PATIENCE)
    assert seen.rest().params() == {"guess": ["a"]}


def test_figure_drags_exports_and_fills_the_screen(watch, tmp_path):
    seen = watch("/softmax?guess=b")
    a_handle_is_dragged_and_its_link_is_offered(seen)
    a_figure_is_saved(seen, tmp_path)
    a_chart_is_updated_and_fills_the_screen(seen)
    seen.main.get_by_role("radio", name=strings("lesson")["tabs"]["code"]).first.click()
    code = seen.main.locator("[data-testid=stCode]").first
    expect(code).to_contain_text("def softmax_rows(", timeout=PATIENCE)


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
    words, turned = strings("share"), seen.params()
    seen.main.get_by_role("button", name=words["share"]).click()
    link = seen.page.get_by_role("dialog").locator("[data-testid=stCode] code")
    expect(link).to_contain_text("class=1", timeout=PATIENCE)
    unanswered = {name: value for name, value in turned.items() if name != "guess"} | {"class": ["1"]}
    for whose, mark, wanted in (("ask", "class=1", unanswered), ("view", "guess=b", turned),
                                ("show", "show=1", unanswered | {"show": ["1"]})):
        seen.page.get_by_role("dialog").get_by_text(words["whose"][whose], exact=True).click()
        expect(link).to_contain_text(mark, timeout=PATIENCE)
        assert parse_qs(urlsplit(link.inner_text()).query, keep_blank_values=True) == wanted
    seen.page.keyboard.press("Escape")


def a_figure_is_saved(seen: Watch, tmp_path) -> None:
    save = seen.main.get_by_role("button", name="Save").first
    save.click()
    with seen.page.expect_download(timeout=PATIENCE) as caught:   # a server for strangers that runs as root draws none
        seen.page.get_by_role("button", name="CSV", exact=True).first.click()
    caught.value.save_as(tmp_path / "figure")
    assert caught.value.suggested_filename == "clearhead-softmax-curves.csv"
    assert (tmp_path / "figure").read_text(encoding="utf-8-sig").startswith("series,temperature T,weight p,value")
    with seen.page.expect_download(timeout=PATIENCE) as caught:
        seen.page.get_by_role("button", name="SVG", exact=True).first.click()
    assert caught.value.suggested_filename == "clearhead-softmax-curves.svg"


def a_chart_is_updated_and_fills_the_screen(seen: Watch) -> None:
    chart = seen.main.locator(".st-key-chart-softmax-curves .clearhead-chart[data-drawn]")
    before = chart.evaluate("chart => (chart.dataset.same = 1, JSON.stringify(chart.firstChild.data[0].y))")
    seen.main.get_by_role("button", name=strings("lessons/softmax")["spread"]["presets"]["tie"]).click()
    seen.page.wait_for_function(
        "before => JSON.stringify(document.querySelector('[data-same] .plot').data[0].y) !== before",
                                arg=before, timeout=PATIENCE)
    low = chart.bounding_box()["height"]
    for full in (True, False):
        chart.hover()
        chart.locator(f"[data-title='{strings('lesson')['full_screen']}']").click()
        seen.page.wait_for_function("([low, full]) => (document.querySelector('.clearhead-chart "
                                    ".main-svg').clientHeight > low) === full",
                                    arg=[low, full], timeout=PATIENCE)
    seen.fine()
