"""Every page for every reader and in every window: axe-core (WCAG 2.2, A and AA) finds nothing serious, light and dark,
wide and narrow, and nothing sticks out or is cut."""
import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE, Watch
from viz.page import pages
from viz.text import strings
from viz.widgets.lesson import lessons

WINDOWS = ((1280, 720), (768, 1024), (390, 844))
SETTLED = 10    # s: charts are drawn anew after a window has changed

# by axe's rule: what Streamlit draws and nobody outside it can mend
STREAMLITS = {
    # on a phone the menu is a list of sections, whose entries stand in a div between the list and its items
    "list": "[data-testid=stSidebarNavItems]", "listitem": "[data-testid=stSidebarNavItems]",
    # a formula wider than the phone; the keyboard reaches it in Chromium and Firefox, which focus what scrolls
    "scrollable-region-focusable": ".katex-display"}
WCAG, COLOURS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"], ["color-contrast"]
AXE = """([runOnly, streamlits]) => axe.run({
        runOnly, resultTypes: ["violations"], elementRef: true, iframes: false, preload: false,
    }).then(({ violations }) => violations.flatMap(({ id, impact, nodes }) => nodes
        .filter(({ element }) => /serious|critical/.test(impact) && !element.closest(streamlits[id] ?? "no-element"))
        .map(({ target, html, failureSummary }) => [id, target.flat().at(-1), html.slice(0, 160), failureSummary])))"""

SCROLLS = ", ".join((
    ".katex-display",   # a formula whose single step is wider than a phone
    "pre",              # code
    ".dvn-scroller"))   # a table of Streamlit's with more columns than a phone shows
UNSEEN = ", ".join((
    ".katex-mathml", ".unseen",         # for screen readers
    ".katex svg",                       # KaTeX draws roots and braces too long and shows a part
    ".subplot .plot, .subplot .overplot",   # what a chart's axes clip
    ".draglayer", "#js-plotly-tester",  # plotly's handles at the edge of a chart, and where it measures words
    "[data-testid=stSidebar]"))         # closed on a phone it waits beside the window; its own width is fixed
# words of an element that end beyond what hides them, elements beyond the window, and what scrolls sideways
CUT = """([scrolls, unseen]) => {
    const found = [], roots = [document], up = (each) => each.parentElement ?? each.getRootNode().host;
    const named = (each) => `${each.localName}.${each.getAttribute("class")}: ${each.textContent.trim().slice(0, 40)}`;
    const once = (test, known = new Map()) => (each) => known.get(each) ?? known.set(each, test(each)).get(each);
    const sideways = once((each) => each.scrollWidth > each.clientWidth + 1
        && /auto|scroll/.test(getComputedStyle(each).overflowX));
    const hides = once((each) => /hidden|clip/.test(getComputedStyle(each).overflowX));
    const above = (each, test) => { do each = up(each); while (each && !test(each)); return each; };
    const texts = (each) => [...each.childNodes].filter(({ nodeType, data }) => nodeType === 3 && data.trim());
    const boxes = (each) => texts(each).map((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    });
    while (roots.length) for (const each of roots.pop().querySelectorAll("*")) {
        if (each.shadowRoot) roots.push(each.shadowRoot);
        const box = each.getBoundingClientRect();
        if (each.localName === "g" || box.width < 4 || box.height < 4 || each.closest(unseen) || above(each, sideways)
            || !each.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (sideways(each) && each.clientWidth > 40 && !each.matches(scrolls)) found.push(`scrolls: ${named(each)}`);
        if ((box.right > innerWidth + 1 || box.left < -1) && getComputedStyle(each).position !== "fixed") {
            found.push(`sticks out: ${named(each)}`);
        }
        const edge = hides(each) ? each : above(each, hides), ends = edge && edge.getBoundingClientRect().right + 1;
        if (edge && boxes(each).some(({ right }) => right > ends)) found.push(`cut: ${named(each)}`);
    }
    return found;
}"""


@pytest.fixture
def open_page(watch):
    """Opens a page of any name in a window; a lesson with its question answered, so that what it asks for is told."""
    def opener(name: str, width: int, height: int) -> Watch:
        answer = f"?guess={'abcd'[strings(f'lessons/{name}')['predict']['right']]}" if name in lessons() else ""
        seen = watch(width=width, height=height)
        seen.page.goto(f"{seen.address}/{name}{answer}")
        expect(seen.main.get_by_role("heading").first).to_be_visible(timeout=PATIENCE)
        return seen.rest()

    return opener


def finds_nothing(seen: Watch, script: str, *given: object) -> None:
    """What the script finds, which may go as the page settles."""
    end = time.perf_counter() + SETTLED
    while (found := seen.page.evaluate(script, given)) and time.perf_counter() < end:
        seen.page.wait_for_timeout(200)
    assert found == [], f"{len(found)} on {seen.page.url} at {seen.page.viewport_size}, such as {found[:3]}"


@pytest.mark.parametrize("name", pages())
def test_every_reader_can_use_a_page_and_no_window_cuts_it(open_page, name):
    first, *others = WINDOWS
    seen = open_page(name, *first)
    seen.page.evaluate(Axe().axe_script)
    finds_nothing(seen, AXE, WCAG, STREAMLITS)
    finds_nothing(seen, CUT, SCROLLS, UNSEEN)
    for width, height in others:
        seen.page.set_viewport_size({"width": width, "height": height})
        finds_nothing(seen, CUT, SCROLLS, UNSEEN)
    seen.page.emulate_media(color_scheme="dark")
    finds_nothing(seen.rest(), AXE, COLOURS, STREAMLITS)


def test_the_row_of_it_is_above_the_fold_of_a_small_laptop(open_page):
    seen = open_page("heads", 1280, 720)
    row = seen.page.locator(".st-key-head .label.down").get_by_text("it", exact=True).first
    expect(row).to_be_in_viewport(ratio=1)
