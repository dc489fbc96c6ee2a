"""Photograph the first figure of each lesson and study for the cards of *Lessons* and *Research*: python -m
tools.cards [ADDRESS] [NAME …]

Opens each page of a running app (default: http://localhost:8501) and writes assets/images/cards/NAME-light.webp and
NAME-dark.webp, 480 × 270 pixels: the whole figure if it is wide, else its upper part. Lessons show their answers, as
some figures are empty before.
"""
import io
import sys
from typing import Any

from PIL import Image, ImageOps

from clearhead.viz.style.text import menu, strings
from clearhead.viz.widgets.cards import PICTURES
from tools.pictures import PATIENCE, RESTS, WIDE, browser

SIZE = 480, 270
SHOWN = "?show=1"
TOOLS = ".clearhead-tools, .modebar { visibility: hidden; }"
# the first large drawing of the page, below its title; a component's controls are not part of it
FIGURE = """() => {
    const wanted = '[data-testid=stPlotlyChart], .clearhead-chart, [data-testid^=stBidiComponent], '
        + '[data-testid=stImage], [data-testid=stDataFrame]';
    const shown = [...document.querySelector('[data-testid=stMain]').querySelectorAll(wanted)].filter((each) => {
        const box = each.getBoundingClientRect();
        return box.width > 240 && box.height > 130;
    });
    if (!shown.length) return null;
    shown[0].scrollIntoView({block: 'center'});
    const box = shown[0].getBoundingClientRect();
    return {x: box.x, y: Math.max(70, box.y), width: box.width, height: box.height};
}"""


def card(page: Any, address: str, name: str) -> Image.Image:
    """Return the picture of a page's card."""
    page.goto(f"{address}/{name}{SHOWN}", wait_until="domcontentloaded")
    page.wait_for_selector(RESTS, timeout=PATIENCE)
    page.wait_for_timeout(2_500)   # what is drawn when the page is at rest
    page.add_style_tag(content=TOOLS)
    page.wait_for_function(f"Boolean(({FIGURE})())", timeout=PATIENCE)
    page.wait_for_timeout(1_000)
    box = page.evaluate(FIGURE)
    clip = box | {"height": min(box["height"], box["width"] * SIZE[1] / SIZE[0])}
    taken = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    shown = ImageOps.contain(taken, SIZE, Image.Resampling.LANCZOS)
    padded = Image.new("RGB", SIZE, taken.getpixel((0, 0)) or 0)   # the page's background
    padded.paste(shown, ((SIZE[0] - shown.width) // 2, (SIZE[1] - shown.height) // 2))
    return padded


def main() -> None:
    """Write the pictures of all cards, or of those named."""
    from playwright.sync_api import sync_playwright

    address, *wanted = sys.argv[1:] or ["http://localhost:8501"]
    pages = [name for word in ("lessons", "research") for group in list(menu()[word].values())[1:] for name in group]
    pages += strings("research")["models"]["cards"]
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, browser(playwright) as chromium:
        for name in wanted or pages:
            for theme in ("light", "dark"):
                page = chromium.new_page(viewport={"width": WIDE[0], "height": WIDE[1]}, color_scheme=theme,
                                         reduced_motion="reduce")   # the story shows its last step
                card(page, address.rstrip("/"), name).save(PICTURES / f"{name}-{theme}.webp", quality=80, method=6)
                page.close()


if __name__ == "__main__":
    main()
