"""The keys of a presentation, in a real browser: which key says what, and to whom it belongs."""
import pytest

# what a key says that comes to an element of the page
SAID = """({ said }, [html, key, code, shiftKey, on, lecture]) => {
    document.body.innerHTML = html;
    let heard;
    document.addEventListener("keydown", (event) => { heard = said(event, on, lecture) ?? null; }, { once: true });
    const target = document.body.firstElementChild;
    target.focus();
    target.dispatchEvent(new KeyboardEvent("keydown", { key, code, shiftKey, bubbles: true, composed: true }));
    return heard;
}"""
PAGE, FIELD, SLIDER = "<p>text</p>", "<input>", "<input type=range>"


@pytest.mark.parametrize(("html", "key", "code", "shift", "wanted"), [
    (PAGE, "p", "KeyP", False, {"on": False}), (PAGE, "Escape", "Escape", False, {"on": False}),
    (PAGE, "PageDown", "PageDown", False, {"step": 1}), (PAGE, "PageUp", "PageUp", False, {"step": -1}),
    (PAGE, "ArrowRight", "ArrowRight", False, {"step": 1}), (PAGE, " ", "Space", False, {"step": 1}),
    (PAGE, "b", "KeyB", False, {"black": True}), (PAGE, ".", "Period", False, {"black": True}),
    (PAGE, "F5", "F5", False, {"full": True}), (PAGE, "Home", "Home", False, {"to": "first"}),
    (PAGE, "2", "Digit2", False, {"hand": 1, "by": 1}), (PAGE, "@", "Digit2", True, {"hand": 1, "by": -1}),
    (PAGE, "x", "KeyX", False, None), (FIELD, "p", "KeyP", False, None), (FIELD, "PageDown", "PageDown", False, None),
    (SLIDER, "ArrowRight", "ArrowRight", False, None), (SLIDER, "PageDown", "PageDown", False, {"step": 1}),
    ("<button>x</button>", "ArrowDown", "ArrowDown", False, {"step": 1})])
def test_a_key_in_a_lecture(run_module, html, key, code, shift, wanted):
    assert run_module("js/presentation.js", SAID, [html, key, code, shift, True, "Lesson"]) == wanted


@pytest.mark.parametrize(("key", "code", "on", "wanted"), [
    ("p", "KeyP", False, {"on": True}), ("PageDown", "PageDown", False, None), ("F5", "F5", False, None),
    ("F5", "F5", True, None), ("b", "KeyB", True, None), ("ArrowLeft", "ArrowLeft", True, {"step": -1})])
def test_a_key_on_another_page(run_module, key, code, on, wanted):
    assert run_module("js/presentation.js", SAID, [PAGE, key, code, False, on, ""]) == wanted
