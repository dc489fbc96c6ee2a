"""Every page by links that a stranger, or an older page, may have made: parameters that do not apply to the page or its
model, and nonsense in those that do."""
import pytest
from hypothesis import settings

from tests import links
from tests.hostile import RUNS
from viz.page import pages
from viz.page_controls import Control, Number, Numbers, Places, Steps, Words
from viz.text import strings
from viz.widgets.lesson import lessons

CONTROLS = {name: page.controls for name, (page, _) in pages().items()}
SHARED = ("kind", "layer", "head", "token", "pair", "lens", "scale", "order", "quadrant", "transpose", "hide_special",
          "renormalise", "words", "keep", "overlay", "present", "screen")
FOREIGN = {control.name for controls in CONTROLS.values() for control in controls}
UNREAD = ("reads no second text", "reads no target", "has no target side", "not a pair")
NONSENSE = (RUNS[0], "-1", "1e400", "9" * 40, "٣", "\0", "x" * 3000, "", "999999", "999999,999999")
LONG = settings.default.max_examples > 100


def extreme(control: Control) -> str:
    """A value that the control can be, as far from sense as it can be."""
    match control:
        case Number(high=high):
            return control.write(high)
        case Numbers(low=low, longest=longest):
            return control.write((low,) * longest)
        case Places(below=below) | Steps(below=below):
            return control.write((below - 1,))
        case Words(longest=longest):
            return (RUNS[0] * 99)[:longest]
        case _:
            return RUNS[0]


def drawn(app, name: str, *params: dict[str, str]) -> list[links.Page]:
    """The page by each of these links. Fails where one does not draw it."""
    opened = links.opened(app.address, *params, name=name)
    for link, page in zip(params, opened, strict=True):
        assert any(words.startswith("#") for words in page.said), link
        assert strings("frame")["unknown_page_error"] not in page.words and "Traceback" not in page.words, link
    return opened


def nonsense_for(name: str) -> dict[str, tuple[str, ...]]:
    """What the page's parameters, its own and those that all share, cannot be."""
    own = {control.name: tuple(value for value in NONSENSE if control.read(value) is None)
           for control in CONTROLS[name]}
    return dict.fromkeys(SHARED, NONSENSE) | {control: values for control, values in own.items() if values}


def asks_as_opened(name: str) -> bool:
    about = pages()[name][0]
    return about.asks_with({control.name: control.start for control in about.controls})


@pytest.mark.parametrize("name", list(CONTROLS))
def test_what_does_not_apply_or_is_nonsense_is_as_if_it_were_not_there(app, name):
    unread = {"model": "induction", "text": "abcabcab", "text_b": "B", "target": "C", "image": "a" * 64}
    foreign = dict.fromkeys(FOREIGN.difference(control.name for control in CONTROLS[name]), "1") | {"": "1"}
    nonsense = nonsense_for(name)
    together = {parameter: values[number % len(values)] for number, (parameter, values) in enumerate(nonsense.items())}
    asked = [unread | foreign | together]
    if LONG or name == "heads":   # one page with a pretrained model, which costs more
        asked.append({"target": "C", "kind": "cross", "pair": "900,900"})
    if LONG:
        asked += [unread | {parameter: value} for parameter, values in nonsense.items() for value in values]
    left_out = strings("frame")["not_read"].format(field=strings("frame")["target"])
    for page in drawn(app, name, *asked):
        assert page.wrong == [] and not [refusal for refusal in UNREAD if refusal in page.words], page.query
        texts = pages()[name][0].reads != "picture"   # beside pictures alone no texts stand that could be left out
        assert (left_out in page.words) == (texts and asks_as_opened(name)), page.query


def test_an_unknown_model_names_the_nearest_ones_and_offers_no_download(app):
    page, = links.opened(app.address, {"model": "minilmm"}, name="heads")
    assert "nearest by name are minilm" in page.words and not [key for key in page.ids if key.startswith("fetch")]


@pytest.mark.parametrize("name", [name for name, controls in CONTROLS.items()
                                  if controls and (LONG or name not in lessons())])   # of those: test_lesson_ends.py
def test_a_control_at_its_most_extreme_gives_a_page(app, name):
    together = {control.name: extreme(control) for control in CONTROLS[name]}
    drawn(app, name, together, *([{one: value} for one, value in together.items()] if LONG else []))
