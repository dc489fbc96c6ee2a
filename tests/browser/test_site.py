"""Clearhead in the browser: the site's pictures, its numbers beside PyTorch's, and what a reader can change."""
import io
import re
from urllib.parse import unquote_plus

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect

from clearhead.model import sources
from clearhead.model.cli.commands import answer_to
from clearhead.model.core.query import Hide, Kind, Silence, Temper
from clearhead.model.core.view import View
from clearhead.viz.export import formats
from clearhead.viz.export.site.rounding import all_weights
from tests.browser import hosted
from tests.browser.watch import Watch
from tests.headline import ANIMAL, TIRED, WIDE, near

WINDOWS = {"wide": (1440, 900), "phone": (390, 844), "frame": (760, 450)}


@pytest.fixture
def visit(tabs, host):
    """visit(fragment) opens the site; no page of it may have errors or ask another host."""
    watches = []

    def opener(fragment: str = "", verdict: str = "✓", address: str = host, **look):
        seen = Watch(tabs.take(**look), address)
        watches.append(seen)
        seen.page.goto(address + fragment)
        seen.page.wait_for_selector(".view[data-drawn]")
        seen.page.wait_for_selector(f"body[data-verdict='{verdict}']:not(.busy)")
        return seen.page

    yield opener
    for each in watches:
        assert each.wrong == []
        tabs.give_back(each.page, host.rsplit("/", 2)[0])


def weights(page, text: str, **edits) -> np.ndarray:
    """Return what the page computes, (layer · head, query, key)."""
    rows = page.evaluate("""async ([text, edits]) => {
        const { tokens, weights } = await window.clearhead.ask(text, edits);
        return Array.from({ length: 72 }, (_, at) => [...weights(Math.floor(at / 12), at % 12)]);
    }""", [text, edits])
    found = np.array(rows)
    return found.reshape(72, int(found.shape[1] ** 0.5), -1)


@pytest.mark.parametrize(("window", "scheme"), [("wide", "light"), ("wide", "dark"), ("phone", "dark"),
                                                 ("frame", "light")])
def test_page_fits_its_window_without_findings_of_axe(visit, window, scheme):
    width, height = WINDOWS[window]
    page = visit(width=width, height=height, scheme=scheme)
    assert Axe().run(page).response["violations"] == []
    wide, high = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= width and (window == "phone" or high <= height)


def test_recorded_heads_come_before_the_model_and_stay_without_it(tabs, site):
    page, waiting, wrong = tabs.take(), [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/*.bin*", lambda route: waiting.append(route))
    with hosted.served(site) as address:   # another origin, so that no service worker has the model
        page.goto(address)
        page.wait_for_selector(".view[data-drawn='layer 3 · head 1 matrix']")
        expect(page.locator("#verdict")).to_contain_text("recorded")
        page.click("#swap")
        expect(page.locator(".strip")).to_contain_text("wide")
        page.fill("#text", "My own sentence.")
        page.press("#text", "Enter")
        expect(page.locator("#news")).to_contain_text("as soon as the model has loaded")
        waiting[0].fulfill(status=404)
        expect(page.locator("#verdict")).to_contain_text("could not be loaded (404). Reload the page.")
        page.evaluate("location.hash = 'hide=[2]'")
        page.locator(".strip button").first.click()
        expect(page.locator("#changes")).to_contain_text("hidden")
        assert "hidden" not in page.locator("#head").inner_text()   # nothing is in the recorded head
    assert wrong == [] and page.locator(".view[data-drawn]").count() == 1
    page.close()


def test_link_holds_what_a_reader_changed(visit):
    page = visit()
    expect(page.locator("#head caption")).to_contain_text("it (10)")
    assert near(ANIMAL) == pytest.approx(float(re.search(r"animal \(2\)\s*([\d.]+)", page.locator(
        "#head table").inner_text())[1]), abs=0.02)
    page.click("#swap")
    page.locator(".grid canvas").click(position={"x": 330, "y": 120})
    page.get_by_role("button", name="Lines").click()
    page.locator(".grid .scroll").press("s")   # silences the open head, as in the app
    page.locator(".strip button", has_text="animal").click()
    page.click("#hide")
    page.locator("#temper").fill("-1")
    page.wait_for_selector("body:not(.busy)")
    expect(page.locator("#changes button")).to_have_count(3)
    link = page.locator("#link").get_attribute("href")
    assert link == page.url and WIDE in unquote_plus(link)
    again = visit(link[link.index("#"):])
    for name in ("#title", "#changes", "#t"):
        assert again.locator(name).inner_text() == page.locator(name).inner_text()
    assert again.locator("[data-drawn$=lines]").count() == 1
    again.locator("#changes button").first.click()
    expect(again.locator("#changes button")).to_have_count(2)
    again.evaluate("location.hash = 'silence=[\"03.01\", 3.1]&temper={\"1.1\": \"2\"}'")   # names no head and no number
    expect(again.locator("#changes button")).to_have_count(0)
    with again.expect_download() as saved:
        again.click("#png")
    picture = np.asarray(Image.open(io.BytesIO(saved.value.path().read_bytes())).convert("L"))
    assert min(picture.shape) > 500 and picture.std() > 5


def test_edits_do_what_they_do_in_the_app(visit, site):
    edits = (Hide("source", 2), Silence(Kind.SELF, 1, 3), Temper(Kind.SELF, 2, 5, 0.5))
    wanted = all_weights(answer_to(sources.open_query(str(site / hosted.TORCH), TIRED, edits=edits)))
    found = weights(visit(), TIRED, hide=[2], silence=["1.3"], temper={"2.5": 0.5})
    assert np.abs(found - wanted).max() < 1e-4


def test_sentences_agree_with_torch(visit):
    found = visit().evaluate(f"() => ({hosted.COMPARE})('dozen')")
    assert len(found) == len(hosted.DOZEN)
    assert hosted.wrong(found) == []


@pytest.mark.rest
def test_two_hundred_sentences_agree_with_torch(visit, site):
    hosted.refer(site, "all", hosted.sentences())
    found = visit().evaluate(f"() => ({hosted.COMPARE})('all')")
    assert len(found) == 200 and max(each[1] for each in found) == 512
    assert hosted.wrong(found) == []


def test_text_above_the_limit_is_refused(visit):
    page = visit()
    page.fill("#text", " ".join(["cat"] * 600))
    page.press("#text", "Enter")
    expect(page.locator("#news")).to_have_text("This text has 602 tokens. The model reads 512. Shorten it.")
    page.fill("#text", " ".join(["cat"] * 100))
    page.press("#text", "Enter")
    expect(page.locator("#grid")).to_contain_text("each cell: the largest of 2 × 2 weights")


def test_page_opens_without_a_network(tabs, site):
    with hosted.served(site) as address:
        page = tabs.take()
        page.goto(address)
        page.wait_for_selector("[data-verdict='✓']")
        page.evaluate("() => navigator.serviceWorker.ready")
    page.reload()   # the server has ended
    page.wait_for_selector("[data-verdict='✓']")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / hosted.SINGLE).as_uri())
    page.wait_for_selector("[data-verdict='✓']")
    assert [each for each in requests if not each.startswith(("blob:", "data:", "file:"))] == [] and len(requests) < 4
    page.close()


FRAME = """<iframe src="head.html" width="760" height="450"></iframe><script>
  window.told = [], window.keys = [];
  addEventListener("message", ({ data }) => told.push(data));
  addEventListener("keydown", ({ key }) => keys.push(key));
</script>"""


def test_exported_page_leaves_its_keys_to_the_page_around_it(tabs, host, site):
    record = answer_to(sources.open_query("minilm", TIRED))
    (site / "head.html").write_bytes(formats.export(".html", record, View(layer=3, head=1, token=10)))
    (site / "around.html").write_text(FRAME, encoding="utf-8")
    page = tabs.take(width=900, height=600)
    page.goto(host + "around.html")
    frame = page.frame_locator("iframe")
    frame.locator(".view[data-drawn]").wait_for()
    told = page.evaluate("() => told")
    assert told and told[-1]["clearhead"] == "" and 300 < told[-1]["height"] <= 450
    frame.locator("figcaption").click()
    page.keyboard.press("p")
    assert page.evaluate("() => keys") == ["p"] and frame.locator(".presenting").count() == 0
    frame.locator(".board").click(position={"x": 5, "y": 5})
    page.keyboard.press("p")
    frame.locator("body.presenting").wait_for(state="attached")
    page.close()
