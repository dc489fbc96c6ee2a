"""One story per page: axe-core finds nothing serious, a dark phone cuts nothing off, the first section fits."""
import time
from urllib.parse import urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from clearhead.viz.app.page import lessons, pages
from clearhead.viz.style.text import strings
from tests.browser.watch import PATIENCE, Watch
from tests.links import trains

PHONE = 390, 844
WINDOWS = ((1280, 720), (768, 1024), PHONE)
SETTLED = 10    # s: charts are drawn anew after a window has changed

# by axe's rule: what Streamlit draws and nobody outside it can mend
STREAMLITS = {
    # on a phone the menu is a list of sections, whose entries stand in a div between the list and its items
    "list": "[data-testid=stSidebarNavItems]", "listitem": "[data-testid=stSidebarNavItems]",
    # a formula wider than the phone; the keyboard reaches it in Chromium and Firefox, which focus what scrolls
    "scrollable-region-focusable": ".katex-display"}
WCAG, COLOURS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"], ["color-contrast"]
# what plotly and KaTeX draw has a description beside it, and axe knows no colours of SVG
AXE = """([runOnly, streamlits]) => axe.run({ exclude: [".main-svg", ".katex"] }, {
        runOnly, resultTypes: ["violations"], elementRef: true, iframes: false, preload: false,
    }).then(({ violations }) => violations.flatMap(({ id, impact, nodes }) => nodes
        .filter(({ element }) => /serious|critical/.test(impact) && !element.closest(streamlits[id] ?? "no-element"))
        .map(({ target, html, failureSummary }) => [id, target.flat().at(-1), html.slice(0, 160), failureSummary])))"""

SCROLLS = ", ".join((
    ".katex-display",   # a formula whose single step is wider than a phone
    "pre",              # code
    ".st-key-syntax-tree",   # a sentence in its tree, which has the width of its words
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

# lessons that have every kind of control between them
MOVED = "softmax", "masks", "block"
# controls, and how they are moved: a key for those that take the focus, a click for the others
KINDS = {"handle": (".drag [role=slider]", "ArrowUp"), "cell": (".cells button", "Space"),
         "box": (".block [aria-checked=true]", "ArrowUp"),
         "sketch": (".sketch [role=slider]", "ArrowUp"),
         "slider": ("input[type=range]", "ArrowLeft"),
         "choice": (".stElementContainer:not([class*=st-key-tabs-]) [data-testid=stButtonGroup] "
                    "[role=radio]:not([aria-checked=true])", None),
         "pill": ("button[data-variant=pills]", None),
         "switch": ("[role=switch]", "Space")}


CUT_FORMULAS = """() => [...document.querySelectorAll('.katex-display')]
    .filter((each) => each.scrollHeight > each.clientHeight).length"""
PICTURE = ".clearhead-chart[data-drawn], .story .row"   # without which a lesson is not drawn yet


def answered(name: str, everything: bool = False) -> str:
    """Return the page's URL, answered and with every switch on; models are trained only with `everything`."""
    if name not in lessons():
        return f"/{name}"
    page, prose = pages()[name][0], strings(f"lessons/{name}")
    on = {each.name: "1" for each in page.controls if each.start is False and (everything or not trains(each))}
    right = {table: "abcd"[each["right"]] for table, each in prose.items()
             if isinstance(each, dict) and isinstance(each.get("right"), int)}
    return f"/{name}?" + urlencode(on | {"guess": right["predict"]}
                                   | {each.name: "a" for each in page.controls if each.name.startswith("guess_")})


@pytest.fixture
def opened(watch):
    """opened(address) opens a page and can check it with axe."""
    def opener(path: str) -> Watch:
        seen = watch()
        seen.page.goto(seen.address + path)
        expect(seen.main.get_by_role("heading").first).to_be_visible(timeout=PATIENCE)
        seen.rest().page.evaluate(Axe().axe_script)
        return seen

    return opener


@pytest.mark.parametrize("name", pages())
def test_page_serves_every_reader(opened, name):
    seen = opened(answered(name))
    if name in lessons():
        assert drawn_twice(seen) == []
        assert below_the_screen(seen) == []
        assert seen.page.evaluate(CUT_FORMULAS) == 0
    finds_nothing(seen, AXE, WCAG, STREAMLITS)
    if name in MOVED:
        every_control_moves(seen)
    seen.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    seen.page.emulate_media(color_scheme="dark")
    finds_nothing(seen.rest(), CUT, SCROLLS, UNSEEN)
    finds_nothing(seen, AXE, COLOURS, STREAMLITS)


@pytest.mark.rest
@pytest.mark.parametrize("name", pages())
def test_page_fits_every_window(opened, name):
    seen = opened(answered(name, everything=True))
    finds_nothing(seen, AXE, WCAG, STREAMLITS)
    for width, height in WINDOWS:
        seen.page.set_viewport_size({"width": width, "height": height})
        finds_nothing(seen, CUT, SCROLLS, UNSEEN)


@pytest.mark.rest
@pytest.mark.parametrize("name", lessons())
def test_link_restores_lesson(opened, name):
    """Reopened from its link, narrow and dark, the lesson has the same state and the same charts."""
    seen = opened(answered(name))
    every_control_moves(seen)
    wanted, link, pictures = seen.params(), urlsplit(seen.page.url), drawn(seen)
    seen.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    seen.page.emulate_media(color_scheme="dark")
    assert seen.open(f"{link.path}?{link.query}").params() == wanted
    expect(seen.main.locator(PICTURE).first).to_be_visible(timeout=PATIENCE)
    expect_pictures(seen, pictures)
    finds_nothing(seen, CUT, SCROLLS, UNSEEN)


def finds_nothing(seen: Watch, script: str, *given: object) -> None:
    """Assert that the script finds nothing once the page has settled."""
    end = time.perf_counter() + SETTLED
    while (found := seen.page.evaluate(script, given)) and time.perf_counter() < end:
        seen.page.wait_for_timeout(200)
    assert found == [], f"{len(found)} on {seen.page.url} at {seen.page.viewport_size}, such as {found[:3]}"


def below_the_screen(seen: Watch) -> list:
    """Return what 1440 × 900 hides of an answered first section: pictures, controls and what to notice."""
    return seen.page.evaluate("""() => {
        const shown = 'h3, .clearhead-chart, [data-testid^=stBidiComponent], [data-testid=stSlider], '
            + '[data-testid=stButtonGroup]:not([class*=st-key-proof-] *), [class*=st-key-notices-]';
        const first = document.querySelector('[data-testid=stMain] [class*=st-key-section-]');
        const parts = [...first.querySelectorAll(shown)].filter((each) => each.getClientRects().length);
        if (!parts.length) return ['nothing is shown'];
        return parts.map((each) => [Math.ceil(each.getBoundingClientRect().bottom), each.className])
            .filter(([bottom]) => bottom > 900);
    }""")


def drawn(seen: Watch) -> list[str]:
    """Return the numbers and texts of every visible chart; a matrix' two heatmaps (white, black) are combined."""
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
    """Return the charts whose margins were too small for their axes' names, so that plotly drew them twice."""
    expect(seen.main.locator(PICTURE).first).to_be_visible(timeout=PATIENCE)
    return seen.rest().page.evaluate("""() => [...document.querySelectorAll('.clearhead-chart .js-plotly-plot')]
        .filter((chart) => chart._fullLayout._redrawFromAutoMarginCount !== undefined)
        .map((chart) => chart.closest('[class*=st-key-chart-]').className)""")


def expect_pictures(seen: Watch, pictures: list[str]) -> None:
    """Assert that moved controls lead to what their link shows a new visitor: no chart kept its previous content."""
    end = time.perf_counter() + PATIENCE / 1000
    while (found := drawn(seen)) != pictures and time.perf_counter() < end:
        seen.page.wait_for_timeout(200)
    assert [one[:300] for one, other in zip(found, pictures, strict=True) if one != other] == []


def every_control_moves(seen: Watch) -> None:
    """Move one control of each kind; a switch twice, so that its content returns."""
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
