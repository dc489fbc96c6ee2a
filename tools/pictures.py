"""Take the screenshots for README.md and docs/: python -m tools.pictures [NAME …]

Starts the app, opens each page in Chromium, and writes docs/images/NAME.png, each under 300 KB. `heads` is also an
animation (docs/images/heads.gif, under 1 MB), whose first frame is heads.png. `python -m tools.documents` creates
the pictures in docs/api.md and docs/paper.md.
"""
import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
WIDE, PROJECTOR = (1440, 900), (1280, 720)
# {name: (address, window size)}
PAGES = {
    "compare": ("/compare", WIDE),
    "lesson": ("/inside?show=1", WIDE),
    "corpus": ("/corpus", WIDE),
    "pronouns": ("/coreference", WIDE),
    "images": ("/heads?model=dinov2-small", WIDE),
    "present": ("/?present=1&layer=3&head=1&pair=it,animal", PROJECTOR),
}
# frames of the animation: address and seconds
MOMENTS = (("/?layer=3&head=1&pair=it,animal", 3.0), ("/?layer=3&head=1&pair=it,animal&lens=lines", 2.5),
           ("/?layer=0&head=2&token=it", 2.5), ("/?layer=5&head=11&pair=it,animal", 2.5))
COLOURS = 128
RESTS = "[data-testid=stApp][data-test-script-state=notRunning]"
VERIFIED = """() => [...document.querySelectorAll('[data-testid=stSidebar] button')]
    .some((button) => button.innerText.includes('✓'))"""
# charts in the window, which are only drawn when visible
DRAWN = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
    .every((chart) => chart.getBoundingClientRect().top > innerHeight || chart.querySelector('.main-svg'))"""
PATIENCE = 300_000   # timeout in ms for a page to finish, even on a busy machine


@contextmanager
def browser(playwright: Any) -> Iterator[Any]:
    """Open a headless Chromium."""
    from clearhead.viz.export.handout.pdf import browser as program

    opened = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox", "--disable-gpu"])
    try:
        yield opened
    finally:
        opened.close()


def small(picture: Image.Image) -> bytes:
    """Return a picture as PNG with a palette."""
    out = io.BytesIO()
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        out, "png", optimize=True)
    return out.getvalue()


def moving(contents: list[bytes]) -> bytes:
    """Return several pictures as an animated GIF."""
    frames = [Image.open(io.BytesIO(each)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
              for each in contents]
    out = io.BytesIO()
    frames[0].save(out, "gif", save_all=True, append_images=frames[1:], loop=0, optimize=True,
                   duration=[int(1000 * seconds) for _, seconds in MOMENTS])
    return out.getvalue()


def photograph(page: Any, address: str) -> bytes:
    """Return a screenshot of the window when the page has finished."""
    page.goto(address)
    page.wait_for_selector(RESTS, timeout=PATIENCE)
    page.wait_for_timeout(5000)   # pages are imported late, and snapshots are drawn after the page
    page.wait_for_selector(RESTS, timeout=PATIENCE)
    page.wait_for_function(DRAWN, timeout=PATIENCE)
    if page.get_by_text("◔").count():   # drawn from a cached record that the model is still verifying
        page.wait_for_function(VERIFIED, timeout=PATIENCE)
    page.wait_for_timeout(1000)
    return page.screenshot()


def main(names: list[str]) -> None:
    """Write the named pictures, by default all."""
    from playwright.sync_api import sync_playwright

    from tests.conftest import Server

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, browser(playwright) as chromium:
        server = Server(ROOT / "app.py", Path(folder) / "log").wait(120)
        try:
            for name in names or ["heads", *PAGES]:
                address, (width, height) = PAGES.get(name, ("", WIDE))
                page = chromium.new_page(viewport={"width": width, "height": height})
                if name == "heads":
                    shots = [photograph(page, server.address + moment) for moment, _ in MOMENTS]
                    (IMAGES / "heads.gif").write_bytes(moving(shots))
                else:
                    shots = [photograph(page, server.address + address)]
                (IMAGES / f"{name}.png").write_bytes(small(Image.open(io.BytesIO(shots[0]))))
                page.close()
        finally:
            server.stop()
    for path in sorted(IMAGES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
