"""What was answered in a lesson is remembered in the browser, marked on the start page, and can be forgotten."""
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz.text import strings

PROMPT = strings("lessons/softmax")["predict"]
# how a ring's colour stands out from what it lies on, as WCAG measures it
CONTRAST = """(ring) => {
    const { borderTopColor, backgroundColor } = getComputedStyle(ring);
    const paint = new OffscreenCanvas(1, 1).getContext("2d");
    const [ground, line] = [backgroundColor, borderTopColor].map((colour) => {
        paint.fillStyle = colour;
        paint.fillRect(0, 0, 1, 1);
        const linear = [...paint.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05;
    });
    return Math.max(ground, line) / Math.min(ground, line);
}"""


def test_an_answer_is_marked_on_the_start_page_comes_back_after_a_reload_and_can_be_forgotten(watch):
    seen, start = watch("/softmax"), strings("lesson")["start"]
    ring = seen.main.get_by_test_id("stRadioOption").first.locator("> div > div").first
    for scheme in ("dark", "light"):
        seen.page.emulate_media(color_scheme=scheme)
        assert seen.rest().page.evaluate(CONTRAST, ring.element_handle()) > 3
    seen.main.locator(".st-key-predict-guess label", has_text=PROMPT["answers"][PROMPT["right"]]["text"]).click()
    seen.rest()
    card = seen.open("/lessons").main.locator(".st-key-card-softmax")
    expect(card).to_contain_text(start["answered"].format(right=1, answered=1), timeout=PATIENCE)
    expect(seen.main.locator(".st-key-card-scale")).not_to_contain_text("right")
    card.get_by_role("button", name=start["open"]).click()
    expect(seen.main.get_by_text(strings("lesson")["yours"])).to_be_visible(timeout=PATIENCE)
    seen.open("/lessons").main.get_by_role("button", name=start["forget"]).click()
    expect(card).not_to_contain_text("right", timeout=PATIENCE)
    seen.rest().fine()
    assert seen.page.evaluate("() => localStorage.getItem('clearhead lessons')") is None
    expect(seen.open("/lessons").main.get_by_role("button", name=start["forget"])).to_have_count(0)
    assert "guess" not in seen.open("/softmax").params()
    expect(seen.main.get_by_text(strings("lesson")["yours"])).to_have_count(0)
