"""Open every page with links from strangers: controls at their limits, misplaced parameters, invalid values."""
import pytest

from clearhead.viz.app.page import pages
from clearhead.viz.app.page_controls import Choice, Control, Number, Numbers, Places, Steps, Words
from clearhead.viz.style.text import strings
from tests import links
from tests.conftest import LONG
from tests.hostile import RUNS

CONTROLS = {name: page.controls for name, (page, _) in pages().items()}
SHARED = ("kind", "layer", "head", "token", "pair", "lens", "scale", "order", "quadrant", "transpose", "hide_special",
          "renormalise", "words", "keep", "overlay", "present", "screen")
FOREIGN = {control.name for controls in CONTROLS.values() for control in controls}
UNREAD = ("does not read a second text", "does not read a target", "has no target side", "not a pair")
NONSENSE = (RUNS[0], "-1", "1e400", "9" * 40, "٣", "\0", "x" * 3000, "", "999999", "999999,999999")


def end(control: Control, high: bool) -> str:
    """Return a value of the control as extreme as possible."""
    match control:
        case Number():
            return control.write(control.high if high else control.low)
        case Choice(options=options):
            return options[-1 if high else 0]
        case Numbers(low=low, longest=longest):
            return control.write((low,) * longest) if high else RUNS[0]
        case Places(below=below) | Steps(below=below):
            return control.write((below - 1,)) if high else RUNS[0]
        case Words(longest=longest):
            return (RUNS[0] * 99)[:longest]
        case _:
            return RUNS[0]


def ends(name: str) -> list[dict[str, str]]:
    """Links that set all the page's controls to their limits; `--all` adds training, both limits and each one."""
    turned = [each for each in CONTROLS[name] if LONG or not links.trains(each)]
    if not LONG:
        return [{each.name: end(each, number % 2 == 0) for number, each in enumerate(turned)}] if turned else []
    together = [{each.name: end(each, high) for each in turned} for high in (False, True)]
    return together + [{one: value} for link in together for one, value in link.items()] if turned else []


def nonsense(name: str) -> list[dict[str, str]]:
    """Return links with invalid values of the page's parameters, and with parameters of other pages and models."""
    own = {control.name: tuple(value for value in NONSENSE if control.read(value) is None)
           for control in CONTROLS[name]}
    values = dict.fromkeys(SHARED, NONSENSE) | {control: found for control, found in own.items() if found}
    unread = {"model": "induction", "text": "abcabcab", "text_b": "B", "target": "C", "image": "a" * 64}
    foreign = dict.fromkeys(FOREIGN.difference(control.name for control in CONTROLS[name]), "1") | {"": "1"}
    asked = [unread | foreign | {each: found[number % len(found)] for number, (each, found) in enumerate(
        values.items())}]
    if LONG or name == "heads":   # one page with a pretrained model, which costs more
        asked.append({"target": "C", "kind": "cross", "pair": "900,900"})
    return asked + ([unread | {each: value} for each, found in values.items() for value in found] if LONG else [])


@pytest.mark.parametrize("name", list(CONTROLS))
def test_any_link_draws_its_page(app, name):
    about, hostile = pages()[name][0], nonsense(name)
    asks = about.asks_with({control.name: control.start for control in about.controls})
    left_out = strings("frame")["not_read"].format(field=strings("frame")["target"])
    for number, page in enumerate(links.opened(app.address, *hostile, *ends(name), name=name)):
        assert any(words.startswith("#") for words in page.said), page.query
        assert strings("frame")["unknown_page_error"] not in page.words and "Traceback" not in page.words, page.query
        if number < len(hostile):
            assert page.wrong == [] and not [refusal for refusal in UNREAD if refusal in page.words], page.query
            # beside texts of the page's own, none stand that could be left out
            assert (left_out in page.words) == (asks and not about.own_texts), page.query
