"""State ⇄ URL parameters. Only what differs from the start is in the URL; whatever a stranger puts there is checked or
ignored."""
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from model.core.limits import LIMITS
from model.core.measures import BY_NAME
from model.core.query import Kind
from model.core.view import LENSES, QUADRANTS, SCALES, View
from viz.page_controls import Control
from viz.state import State

NUMBER = r"\d{1,6}"
START = State()


def to_params(state: State, page: str = "", controls: Iterable[Control] = ()) -> dict[str, str]:
    """The parameters that bring this state back, with the page's own controls. Texts over LIMITS.link_text stay out;
    `too_long` tells."""
    view, params = state.view, {}
    for name in ("model", "text", "text_b", "target"):
        value = getattr(state, name)
        if value is not None and value != getattr(START, name) and not _too_long(value):
            params[name] = value
    if "kind" in state.user_set:
        params["kind"] = view.kind.value
    if "head" in state.user_set:
        params |= {"layer": str(view.layer), "head": str(view.head)}
    if "token" in state.user_set and view.token is not None:
        params["token"] = str(view.token)
    if "pair" in state.user_set:
        params["pair"] = ",".join(map(str, view.pair or ()))
    if "scale" in state.user_set:
        params["scale"] = view.scale
    for name in ("lens", "order", "quadrant"):
        if getattr(view, name) != getattr(START.view, name):
            params[name] = getattr(view, name)
    params |= {name: "1" for name in ("transpose", "hide_special", "renormalise", "words") if getattr(view, name)}
    if view.keep < 1:
        params["keep"] = f"{view.keep:g}"
    if view.overlay:
        params["overlay"] = ",".join(f"{layer}.{head}" for layer, head in view.overlay)
    if state.present:
        params["present"] = "1"
    turned = state.controls_of(page)
    return params | {control.name: control.write(turned[control.name]) for control in controls
                     if turned.get(control.name, control.start) != control.start}


def too_long(state: State) -> bool:
    """Whether a text is left out of the link."""
    return any(_too_long(text) for text in (state.text, state.text_b, state.target) if text)


def _too_long(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) > LIMITS.link_text or any(
        "\ud800" <= sign <= "\udfff" for sign in text)


def from_params(params: Mapping[str, str], page: str = "", controls: Iterable[Control] = ()) -> State:
    """The state that a link to a page describes; a parameter that makes no sense is as if it were not there."""
    texts: dict[str, Any] = {name: params[name] for name in ("model", "text", "text_b", "target") if params.get(name)}
    state = replace(START, **texts)
    chosen: set[str] = set()
    view: dict[str, Any] = {}
    if params.get("kind") in set(Kind):
        view["kind"] = Kind(params["kind"])
        chosen.add("kind")
    if (numbers := _numbers(params, "layer", "head")) is not None:
        view["layer"], view["head"] = numbers
        chosen.add("head")
    if (numbers := _numbers(params, "token")) is not None:
        view["token"] = numbers[0]
        chosen.add("token")
    if re.fullmatch(rf"({NUMBER},{NUMBER})?", params.get("pair", "-"), re.ASCII):
        view["pair"] = tuple(int(place) for place in params["pair"].split(",")) if params["pair"] else None
        chosen.add("pair")
    if params.get("scale") in SCALES:
        view["scale"] = params["scale"]
        chosen.add("scale")
    clean = {control.name: control.read(params[control.name]) for control in controls if control.name in params}
    shown = replace(state, view=replace(View(), **view, **_looks(params)), user_set=frozenset(chosen),
                    present=params.get("present") == "1")
    return shown.with_control_values(page, **{control.name: clean[control.name] for control in controls
                                              if clean.get(control.name, control.start) != control.start})


def _numbers(params: Mapping[str, str], *names: str) -> list[int] | None:
    values = [params.get(name, "") for name in names]
    return [int(value) for value in values] if all(re.fullmatch(NUMBER, value, re.ASCII) for value in values) else None


def _looks(params: Mapping[str, str]) -> dict:
    """The parts of the view that say how something is shown."""
    view: dict = {name: params.get(name) == "1" for name in ("transpose", "hide_special", "renormalise", "words")}
    for name, known in (("lens", LENSES), ("quadrant", QUADRANTS),
                        ("order", ("layer", "pair", *BY_NAME))):
        if params.get(name) in known:
            view[name] = params[name]
    if re.fullmatch(r"(0\.\d{1,4}|1)", params.get("keep", ""), re.ASCII) and float(params["keep"]) > 0:
        view["keep"] = float(params["keep"])
    if re.fullmatch(rf"{NUMBER}\.{NUMBER}(,{NUMBER}\.{NUMBER}){{0,6}}", params.get("overlay", ""), re.ASCII):
        view["overlay"] = tuple(tuple(int(part) for part in head.split(".")) for head in params["overlay"].split(","))
    return view


def address(base: str, state: State, page: str = "", controls: Iterable[Control] = ()) -> str:
    """The whole link: the page's address without its query, and the state's parameters."""
    params = to_params(state, page, controls)
    return base.split("?")[0] + ("?" + urlencode(params) if params else "")
