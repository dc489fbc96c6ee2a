"""Back and Forward: each click, key or drag that changes the URL is one history entry, which restores its view."""
from contextlib import suppress
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.watch import PATIENCE, soon

RANGE = "[class*=st-key-slider-] input[type=range]"


@pytest.fixture
def visit(watch):
    """Open a page and wait until it is finished."""
    def opened(path, **look):
        seen = watch(**look)
        seen.page.goto(seen.address + path)
        expect(seen.page.locator(".st-key-next-page, .clearhead-line .place").first).to_be_visible(timeout=PATIENCE)
        return seen.rest()
    return opened


def added(seen, act) -> int:
    """Return how many history entries `act` adds if there is nothing to go forward to."""
    before = seen.page.evaluate("history.length")
    act()
    with suppress(TimeoutError):   # a busy machine may begin to answer only after the page was still
        seen.page.wait_for_function("before => history.length > before", arg=before, timeout=1000)
    seen.rest()
    return seen.page.evaluate("history.length") - before


def address(seen) -> str:
    return seen.page.evaluate("location.pathname + location.search")


def here(seen) -> tuple:
    """Return the URL and what the page shows of it."""
    page = seen.page
    return (address(seen), page.locator("[data-testid=stSidebar] textarea").first.input_value(),
            # two for a moment while the choice changes
            " ".join(page.locator(".st-key-view_lens [aria-checked=true]").all_inner_texts()),
            page.locator("h5", has_text="layer").first.inner_text())


def drag(seen) -> None:
    """Move the first slider's thumb by a hundred pixels, for one second."""
    mouse, slider = seen.page.mouse, seen.page.locator(RANGE).first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    for step in range(10):
        mouse.move(x + 10 * step, y)
        seen.page.wait_for_timeout(100)
    mouse.up()


def test_heads_go_back_one_click_at_a_time(visit):
    seen = visit("/heads")
    text, shown = seen.page.locator("[data-testid=stSidebar] textarea").first, [here(seen)]

    def typed():
        text.fill("The cat sat on it.")
        text.press("Control+Enter")

    for act in (lambda: seen.page.locator(".st-key-grid canvas").first.click(position={"x": 60, "y": 60}),
                lambda: seen.page.locator(".st-key-view_lens").get_by_role("radio", name="lines").click(),
                typed, lambda: seen.page.locator(".st-key-strip button").nth(2).click()):
        assert added(seen, act) == 1
        shown.append(here(seen))
    assert len(set(shown)) == 5 and len({view[1] for view in shown}) == 2
    assert added(seen, lambda: seen.page.locator(".st-key-head canvas").last.hover()) == 0
    for view in shown[-2::-1]:
        seen.page.go_back()
        soon(lambda: here(seen), view)
    for view in shown[1:4]:
        seen.page.go_forward()
        soon(lambda: here(seen), view)
    seen.page.reload()
    soon(lambda: here(seen.rest()), shown[3])
    seen.page.go_back()
    soon(lambda: here(seen), shown[2])
    # what was undone stays so when something else is clicked
    seen.page.locator(".st-key-view_lens").get_by_role("radio", name="text").click()
    assert here(seen.rest())[1] == shown[2][1] and "token" not in seen.params()


def test_drag_and_held_key_are_one_entry_each(visit):
    seen = visit("/softmax?guess=a")
    page, slider = seen.page, seen.page.locator(RANGE).first
    said = [slider.get_attribute("aria-valuetext")]

    def hold():
        for _ in range(6):
            page.keyboard.down("ArrowRight")
            page.wait_for_timeout(100)
        page.keyboard.up("ArrowRight")

    for act in (lambda: drag(seen), lambda: slider.press("ArrowRight"), hold):
        assert added(seen, act) == 1
        said.append(slider.get_attribute("aria-valuetext"))
    assert len(set(said)) == 4
    for value in said[-2::-1]:
        page.go_back()
        soon(lambda: slider.get_attribute("aria-valuetext"), value)
    seen.rest().page.locator("[role=slider]").first.press("ArrowUp")
    assert set(seen.rest().params()) == {"guess", "z"}, "no slider moves again"


@pytest.mark.rest
def test_streamlit_alone_makes_many_entries_of_a_drag(seen):
    """When this fails, viz/components/js/history.js is no longer needed."""
    seen.page.route("**/js/history.js", lambda route: route.fulfill(content_type="text/javascript",
                                                                    body="export const entries = () => {};"))
    seen.page.goto(f"{seen.address}/softmax?guess=a")
    expect(seen.page.locator(RANGE).first).to_be_visible(timeout=PATIENCE)
    assert added(seen.rest(), lambda: drag(seen)) > 1


@pytest.mark.rest
def test_film_adds_no_entry(visit):
    seen = visit("/training?step=0")
    play = seen.main.locator(".st-key-play button")

    def beyond(step):
        return int(dict(parse_qsl(address(seen).partition("?")[2]))["step"]) > step

    def film():
        play.click()
        soon(lambda: beyond(0), True)
        seen.main.locator("[data-testid=stCaptionContainer]").first.click()   # a click that changes nothing
        soon(lambda: beyond(20), True)
        seen.main.locator(".st-key-pause button").click()

    assert added(seen, film) == 0, "the click on Play changed nothing, either"
    stopped = address(seen)
    seen.main.locator(RANGE).first.press("Home")
    assert seen.rest() and not beyond(0)
    play.click()
    soon(lambda: beyond(0), True)
    seen.page.go_back()
    soon(lambda: address(seen), stopped)
    expect(play).to_be_visible(timeout=PATIENCE)
    assert address(seen.rest()) == stopped


def test_pages_go_back_with_their_controls(visit):
    seen = visit("/compare")
    versus = seen.page.locator(".st-key-view_versus").get_by_role("radio").nth(1)
    visited = [address(seen)]
    for act in (versus.click, lambda: seen.follow_menu("research"),
                lambda: seen.main.locator(".st-key-next-page button").click()):
        assert added(seen, act) == 1
        visited.append(address(seen))
    assert [each.partition("?")[0] for each in visited] == ["/compare", "/compare", "/research", "/corpus"]
    for before in visited[2::-1]:
        seen.page.go_back()
        soon(lambda: address(seen), before)
        seen.rest()
    expect(versus).not_to_be_checked(timeout=PATIENCE)
    seen.page.go_forward()
    expect(versus).to_be_checked(timeout=PATIENCE)
    assert address(seen.rest()) == visited[1]


@pytest.mark.rest
def test_presenting_goes_back_one_screen(visit):
    seen = visit("/softmax?present=1&guess=c&screen=curves", width=1920, height=1080)
    place = seen.main.locator(".clearhead-line .place")
    shown = [place.inner_text()]
    for _ in range(2):
        seen.page.keyboard.press("End" if len(shown) == 1 else "Home")
        seen.page.wait_for_timeout(350)
        shown.append(place.inner_text())
        seen.rest()
    assert len(set(shown)) == 3
    for at in shown[1::-1]:
        seen.page.go_back()
        soon(place.inner_text, at)
