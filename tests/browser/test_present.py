"""A presented lesson, in a real browser: screens legible from the last row, a clicker, and counted hands."""
import itertools
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from clearhead.viz.app.page import lessons
from clearhead.viz.style.text import strings
from clearhead.viz.widgets.page_bar import ORDER
from tests.browser.watch import PATIENCE, Watch, soon

WORDS = strings("present")
TOLD = 350              # ms: the server hears 300 ms later which screen is seen
WINDOWS = (1280, 720), (1024, 768), (1920, 1080)
FITTED = 600            # ms: a screen is fitted again once its charts have settled
# what an audience could not read: text under 14 pixels (sliders, hints, thinned labels, exponents apart), prose under a
# 40th of its height; what is not on the screen; charts, but for matrices, that with the pictures beside them are
# narrower than half of it
UNREAD = """() => {
    const scale = (at) => at.matches(".plot") ? new DOMMatrix(getComputedStyle(at).transform).a : 1;
    const own = (at) => getComputedStyle(at).zoom * scale(at);
    const zoom = (at) => at ? own(at) * zoom(at.parentElement ?? at.getRootNode().host) : 1;
    const size = (at) => parseFloat(getComputedStyle(at).fontSize) * zoom(at);
    const main = document.querySelector("[data-testid=stMain]"), roots = [main], found = [], shown = [];
    const apart = ".slider, .colorbar, .hint, .unseen, .clearhead-line, .heatmap-label, .mtight, .katex-mathml";
    const large = Math.min(innerWidth / 70, innerHeight / 40);
    const prose = "h2, h3, [data-said], [data-said] p, [class*=st-key-predict-] p, .st-key-screen-remember li";
    while (roots.length) for (const each of roots.pop().querySelectorAll("*")) {
        if (each.shadowRoot) roots.push(each.shadowRoot);
        if (each.matches("canvas, .clearhead-chart") && each.checkVisibility()) shown.push(each);
        const text = [...each.childNodes].map((each) => each.nodeType === 3 ? each.data : "").join("").trim();
        const least = each.matches(prose) ? large : /^[−\\d\\u200b]?$/.test(text) ? 0 : 14;
        if (text && each.checkVisibility() && !each.closest(apart) && size(each) < least - 0.1) {
            found.push(`${size(each).toFixed(1)}: ${text.slice(0, 30)}`);
        }
    }
    for (const way of ["Width", "Height"]) {
        if (main[`scroll${way}`] > main[`client${way}`] * 1.01) found.push(`${way} ${main[`scroll${way}`]}`);
    }
    const charts = shown.filter((each) => each.matches(".clearhead-chart"));
    const boxes = shown.map((each) => each.getBoundingClientRect());
    const wide = Math.max(...boxes.map(({ right }) => right)) - Math.min(...boxes.map(({ left }) => left));
    if (wide < innerWidth / 2 && charts.some((each) => !each.querySelector(".heatmaplayer *"))) found.push("narrow");
    return found;
}"""


def presented(watch, path: str) -> Watch:
    seen = watch(width=1280, height=720)
    seen.page.goto(seen.address + path)
    expect(seen.main.locator(".clearhead-line .place")).to_contain_text("/", timeout=PATIENCE)
    return seen.rest()


def place(seen: Watch) -> tuple[int, int]:
    at, of = seen.main.locator(".clearhead-line .place").inner_text().split("/")
    return int(at), int(of)


def step(seen: Watch, how: str) -> None:
    """Step forward by a key or the mouse, and wait until the screen is drawn."""
    if how == "click":
        seen.main.get_by_role("button", name=WORDS["on"]).click()
    else:
        seen.page.keyboard.press(how)
    seen.page.wait_for_timeout(TOLD)
    seen.rest()


def guessed(seen: Watch) -> bool:
    return any(name.startswith("guess") for name in seen.params())


# the kind of the text that is shown, by the first word of its container's key; "" for a title or a final question
KIND = """() => /st-key-([a-z]+)-/.exec(
    document.querySelector("[data-said]")?.closest("[class*=st-key-]").className)?.[1] ?? ''"""


def pictures(seen: Watch) -> bytes:
    """Return a photograph of what is beside a question."""
    return seen.page.screenshot(clip={"x": 900, "y": 0, "width": 1000, "height": 1000})


def audience_can_read(seen: Watch, *windows: tuple[int, int]) -> None:
    for width, height in windows:
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.page.wait_for_timeout(FITTED)
        soon(lambda: seen.page.evaluate(UNREAD), [])
    soon(lambda: seen.page.evaluate(UNREAD), [])
    assert urlsplit(seen.page.url).path != "/handout"


@pytest.mark.parametrize(("name", "most"), [
    ("masks", 3), *(pytest.param(name, None, marks=pytest.mark.rest) for name in lessons())])
def test_audience_can_read_every_screen(watch, name, most):
    """The order is question, picture with the answer, what to notice, formula; what to remember comes last."""
    seen, visited = presented(watch, f"/{name}?present=1"), list[tuple[int, str]]()
    for how in itertools.islice(itertools.cycle(["PageDown", "ArrowRight", "click"]), 200):
        at, screens = place(seen)
        state = at, seen.page.evaluate(KIND)
        audience_can_read(seen, *(() if state in visited else WINDOWS[1:] if most else WINDOWS))
        visited.append(state)
        if at == (most or screens) and not (most and state[1] == "predict"):
            break
        if seen.main.locator("[class*=st-key-reveal-]:visible").count():
            before, asks = pictures(seen), state[1] == "predict"
            step(seen, how)
            # the former button stays until the page has run to its end
            soon(lambda: seen.main.locator("[class*=st-key-reveal-]:visible").count(), 0)
            assert place(seen)[0] == at and (not asks or name == "story" or pictures(seen) != before)
        else:
            step(seen, how)
    order = ["", *ORDER]
    assert visited == sorted(visited, key=lambda state: (state[0], order.index(state[1]))), "question, picture, words"
    assert {at for at, _ in visited} == set(range(1, at + 1)), "none is passed over"
    assert screens >= 5 and guessed(seen.rest()), "a step over the question answered it"
    assert most or seen.main.locator(".st-key-screen-remember[data-seen]").is_visible()
    seen.fine()


def test_raised_hands_are_counted_revealed_and_survive_reload(watch):
    prompt = strings("lessons/softmax")["predict"]
    seen = presented(watch, "/softmax?present=1&screen=predict-guess")
    counts = seen.main.locator("[class*=st-key-hands-guess-] .count:visible")
    expect(counts).to_have_count(len(prompt["answers"]))
    why = prompt["answers"][prompt["right"]]["why"][:30]
    assert why not in seen.main.inner_text()
    for key in ("1", "1", "2", "2", "Shift+Digit2", "2"):
        seen.page.keyboard.press(key)
    expect(counts).to_have_text(["2", "2", "0", "0"])
    seen.page.reload()
    expect(counts).to_have_text(["2", "2", "0", "0"], timeout=PATIENCE)
    assert place(seen)[0] == 2
    seen.rest().page.keyboard.press("PageDown")
    expect(seen.main.get_by_text(why)).to_be_visible(timeout=PATIENCE)
    expect(counts).to_have_text(["2 · 50%", "2 · 50%", "0 · 0%", "0 · 0%"])
    bars = seen.main.locator("[class*=st-key-hands-guess-] .bar:visible")
    assert [round(each.bounding_box()["width"]) > 0 for each in bars.all()] == [True, True]
    assert place(seen)[0] == 2 and strings("lesson")["yours"] not in seen.main.inner_text()
    seen.main.get_by_role("button", name=WORDS["hands"]["clear"]).click()
    seen.main.get_by_role("button", name=WORDS["again"]).click()
    expect(counts).to_have_text(["0", "0", "0", "0"], timeout=PATIENCE)
    seen.main.get_by_role("button", name=prompt["answers"][0]["text"][:30]).click()
    expect(seen.main.get_by_text(why)).to_be_visible(timeout=PATIENCE)
    assert "progress" not in seen.rest().page.evaluate("() => Object.keys(localStorage).join()")


def test_clicker_steps_whatever_has_the_focus(watch):
    seen = presented(watch, "/softmax?present=1&guess=c&screen=curves")
    slider = seen.main.get_by_role("slider", name=strings("lessons/softmax")["curves"]["t"])
    expect(slider).to_be_visible()
    slider.focus()
    seen.page.keyboard.press("ArrowRight")
    expect(seen.page).to_have_url(re.compile(r"[?&]t="), timeout=PATIENCE)
    before = slider.input_value()
    seen.rest().page.keyboard.press("PageDown")
    expect(seen.page).to_have_url(re.compile(r"screen=curves\."), timeout=PATIENCE)
    assert slider.input_value() == before, "Page Down is the clicker's"
    black = seen.main.locator(".clearhead-black")
    seen.page.keyboard.press(".")
    expect(black).to_be_visible()
    seen.page.keyboard.press("PageDown")
    expect(black).to_be_hidden()
    seen.page.keyboard.press("End")
    soon(lambda: place(seen)[0] == place(seen)[1], True)
    seen.main.get_by_role("button", name=WORDS["leave"]).click()
    expect(seen.page.get_by_test_id("stTopNavLink").first).to_be_visible(timeout=PATIENCE)
    assert set(seen.rest().params()) == {"t", "guess"}
    expect(seen.main.locator("[data-seen], [data-said]")).to_have_count(0)
    seen.fine()


def test_arrow_keys_walk_through_a_story_before_its_screen_is_left(watch):
    seen = presented(watch, "/story?present=1&guess=c&screen=story.1")
    titles, at = list(strings("lessons/story")["steps"]["titles"].values()), seen.main.locator(".stop[aria-current]")
    for title in titles:
        expect(at).to_have_text(title)
        step(seen, "ArrowRight")
    expect(seen.main.locator("[class*=st-key-about-][data-said]")).to_be_visible()
    step(seen, "ArrowLeft")
    for title in reversed(titles):
        expect(at).to_have_text(title)
        step(seen, "ArrowLeft")
    expect(seen.main.locator("[class*=st-key-predict-guess][data-said]")).to_be_visible()
