"""Count the labelled controls that a newcomer sees on a page without scrolling: python -m tools.first_screen
[ADDRESS] [PATH …]

Opens each page (default: the start page) of a running app (default: http://localhost:8501) in a new Chromium profile at
1440 × 900. A control is what the mouse or keyboard can use: a link, button, field, choice, switch or help sign. It
counts if it has a label, visible or for screen readers, and its centre is in the window. Each option of a row of
buttons counts; a component drawn by Clearhead, such as the tokens or the grid of heads, counts once, and so does a
field with the arrow that opens its list.
"""
import sys
from typing import Any

from tools.pictures import PATIENCE, VERIFIED, WIDE, browser

CONTROLS = """() => {
    const wanted = 'a[href], button, input, select, textarea, summary, [role=button], [role=combobox], [role=radio], '
        + '[role=switch], [role=slider], [role=tab]';
    const label = (each) => (each.getAttribute('aria-label') || each.innerText || each.labels?.[0]?.innerText
        || each.placeholder || each.title || '').trim().replace(/\\s+/g, ' ').slice(0, 60);
    const usable = (each) => {
        const box = each.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
        return each.matches(wanted) && !each.disabled && box.width > 3 && box.height > 3 && x >= 0 && y >= 0
            && x < innerWidth && y < innerHeight && label(each)
            && each.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
    };
    const inside = (root) => [...root.querySelectorAll('*')].flatMap((each) => [each, ...(each.shadowRoot
        ? inside(each.shadowRoot) : [])]);
    const found = [], seen = new Set();
    for (const each of inside(document)) {
        const component = each.getRootNode().host
            ?? each.closest('[data-testid^=stBidiComponent], .clearhead-component, [data-testid=stSelectbox]');
        const one = component ?? each.parentElement?.closest(wanted) ?? each;
        const {top, height} = each.getBoundingClientRect();
        const drawn = component && each.matches('canvas, [tabindex="0"]') && top < innerHeight && height > 3;
        if (seen.has(one) || !(usable(each) || drawn)) continue;
        seen.add(one);
        found.push(label(each) || one.closest('[class*=st-key-]')?.className.match(/st-key-([\\w-]+)/)?.[1] || '?');
    }
    return found;
}"""


def controls(chromium: Any, address: str) -> list[str]:
    """Return the labels of the controls in the first window of a page, in the page's order."""
    page = chromium.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
    page.goto(address, wait_until="domcontentloaded")
    page.wait_for_function(VERIFIED, timeout=PATIENCE)
    page.wait_for_timeout(2_000)   # what is drawn when the page is at rest
    found: list[str] = page.evaluate(CONTROLS)
    page.close()
    return found


def main() -> None:
    """Print the labels and their number for each page."""
    from playwright.sync_api import sync_playwright

    address, *paths = sys.argv[1:] or ["http://localhost:8501"]
    with sync_playwright() as playwright, browser(playwright) as chromium:
        for path in paths or ["/"]:
            found = controls(chromium, address.rstrip("/") + path)
            print(f"{path}: {len(found)} labelled controls at {WIDE[0]} × {WIDE[1]}")
            print("\n".join(f"  {each}" for each in found))


if __name__ == "__main__":
    main()
