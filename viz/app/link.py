"""Conversion between State and URL parameters. The address bar contains what differs from the defaults. Untrusted
parameters are validated, and ignored if invalid.

A text of up to LIMITS.link_text bytes is stored literally. A longer one is deflated (RFC 1951) and encoded as URL-safe
base64 without padding. A text that would make the URL longer than LONGEST is omitted: the URL contains only its short
name, and the page tells whoever opens the link.
"""
import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import Kind, frozen
from clearhead.model.core.view import CHOICES, SWITCHES, View
from clearhead.viz.app.page_controls import Control, Steps
from clearhead.viz.app.state import TEXTS, WORKED_OUT, State

# most characters in a URL: nginx and Apache reject request lines above 8 kB, and mail programs that check links make
# them a third longer
LONGEST = 6_000
PASSING = "passing"   # last parameter of a URL not chosen by a reader; removed from the address bar
BASE = 200       # characters reserved for scheme, host and path
NUMBER = r"\d{1,6}"
SHORT_NAME = "[0-9a-f]{16}"
IMAGE = "[0-9a-f]{64}"
SCREEN = r"[a-z][a-z0-9_-]{0,40}(\.\d{1,2})?"   # a presented screen: its name, and the index of a sentence
MOST_PACKED = 6_000   # most characters to decode; they could expand to 4.6 MB, so that the output is limited, too
CONTINUATION = Steps("continuation", 10**7, 256)   # the tokens that a decoder wrote
RAW = -15             # zlib's wbits for deflate without a header
START = State()


@frozen
class Form:
    """The parameter of a field of the view: what it may be, and how it is read and written."""

    pattern: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _numbers(text: str, between: str = ",") -> tuple[int, ...]:
    return tuple(map(int, text.split(between)))


HEAD = rf"{NUMBER}\.{NUMBER}"
FORMS = {"kind": Form("|".join(Kind.every()), Kind, lambda kind: kind.value),
         **dict.fromkeys(("layer", "head", "token"), Form(NUMBER, int)),
         "pair": Form(rf"({NUMBER},{NUMBER})?", lambda text: _numbers(text) if text else None,
                      lambda pair: ",".join(map(str, pair))),
         **{name: Form("|".join(CHOICES[name]), str) for name in ("scale", "lens", "order", "quadrant")},
         **dict.fromkeys(SWITCHES, Form("1", bool, lambda on: "1")),
         "keep": Form(r"0\.(?!0+$)\d{1,4}|1", float, "{:g}".format),
         "overlay": Form(rf"{HEAD}(,{HEAD}){{0,6}}",
                         lambda text: tuple(_numbers(head, ".") for head in text.split(",")),
                         lambda heads: ",".join(f"{layer}.{head}" for layer, head in heads))}


def pack(text: str) -> str | None:
    """Pack a text into URL-safe characters. Return None if it is too long or cannot be encoded in UTF-8."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if len(content) > LIMITS.link_unpacked:
        return None
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
    packed = base64.urlsafe_b64encode(deflate.compress(content) + deflate.flush()).decode("ascii").rstrip("=")
    return packed if len(packed) <= MOST_PACKED else None


def unpack(packed: str) -> str | None:
    """Unpack the output of `pack`, to at most LIMITS.link_unpacked bytes. Return None if it is invalid."""
    if len(packed) > MOST_PACKED:
        return None
    inflate = zlib.decompressobj(RAW)
    try:
        content = inflate.decompress(base64.b64decode(packed + "=" * (-len(packed) % 4), b"-_", validate=True),
                                     LIMITS.link_unpacked + 1)
        whole = inflate.eof and not inflate.unused_data and len(content) <= LIMITS.link_unpacked
        return content.decode("utf-8") if whole else None
    except (ValueError, zlib.error):   # truncated or forged links
        return None


def short_name(text: str) -> str:
    """Return the URL key of a text too long for the URL."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def to_params(state: State, page: str = "", controls: Iterable[Control] = (), named: bool = False) -> dict[str, str]:
    """Return the parameters that restore this state and the page's own controls. named: include the model and texts
    even if they are the defaults."""
    model = {"model": state.model} if named or state.model != START.model else {}
    others = _view_params(state, page, controls)
    asked = {field: getattr(state, field) or "" for field in TEXTS}
    texts = {field: text for field, text in asked.items() if text != (getattr(START, field) or "")}
    model |= ({"image": state.image} if state.image else {}) | ({"chat": "1"} if state.chat else {})
    model |= {"continuation": CONTINUATION.write(state.continuation)} if state.continuation else {}
    texts |= {"text": state.text} if named and not state.image else {}
    absent = {f"{field}_id": name for field, name in state.absent.items()}
    held = {field: text for field, text in texts.items() if f"{field}_id" not in absent}
    return model | _text_params(held, LONGEST - BASE - len(urlencode(model | absent | others))) | absent | others


def left_out(state: State, page: str = "", controls: Iterable[Control] = ()) -> dict[str, str]:
    """Return {short name: text} of the texts that do not fit into this state's URL."""
    params = to_params(state, page, controls, named=True)
    return {short_name(text): text for field in TEXTS
            if (text := getattr(state, field)) and params.get(f"{field}_id") == short_name(text)}


def _text_params(texts: dict[str, str], room: int) -> dict[str, str]:
    """Return {parameter: value} for the texts, as readable as `room` characters allow."""
    for form in (_readable, _packed):
        params = {name: value for field, text in texts.items() for name, value in form(field, text).items()}
        if len(urlencode(params)) <= room:
            return params
    shortest_first = sorted(texts, key=lambda field: len(params.get(f"{field}_z", "")))
    while shortest_first and len(urlencode(params)) > room:
        field = shortest_first.pop()
        params.pop(f"{field}_z", None)
        params[f"{field}_id"] = short_name(texts[field])
    return params


def _readable(field: str, text: str) -> dict[str, str]:
    held = not any("\ud800" <= sign <= "\udfff" for sign in text)
    return {field: text} if held and len(text.encode("utf-8")) <= LIMITS.link_text else _packed(field, text)


def _packed(field: str, text: str) -> dict[str, str]:
    packed = pack(text)
    if packed is None:
        return {f"{field}_id": short_name(text)}
    return {f"{field}_z": packed} if len(packed) < len(quote(text)) else {field: text}


def _view_params(state: State, page: str, controls: Iterable[Control]) -> dict[str, str]:
    """Return the parameters of the user's choices: the view, presentation mode and the page's controls."""
    derived = {*WORKED_OUT, "layer"}   # only included if the user chose them
    chosen = {name for name in derived if ("head" if name == "layer" else name) in state.user_set}
    shown = {name: getattr(state.view, name) for name in FORMS}
    params = {name: FORMS[name].write(value) for name, value in shown.items() if value is not None
              and (name in chosen or (name not in derived and value != getattr(START.view, name)))}
    params |= {"pair": ""} if "pair" in chosen and state.view.pair is None else {}
    switched = {"show": state.show, "class": state.guest, "present": state.present}
    params |= {name: "1" for name, on in switched.items() if on}
    if state.present:
        params |= ({"screen": state.screen} if state.screen else {}) | (
            {"entry": str(state.entry)} if state.entry else {})
    turned = state.controls_of(page)
    return params | {control.name: control.write(turned[control.name]) for control in controls
                     if turned.get(control.name, control.start) != control.start}


def from_params(params: Mapping[str, str], page: str = "", controls: Iterable[Control] = ()) -> State:
    """Return the state described by a link to a page; invalid parameters are ignored."""
    state, view = _asked(params), _looks(params)
    clean = {control.name: control.read(params[control.name]) for control in controls if control.name in params}
    present, screen, entry = params.get("present") == "1", params.get("screen", ""), params.get("entry", "")
    shown = replace(state, view=replace(View(), **view), user_set=frozenset(set(WORKED_OUT) & view.keys()),
                    show=params.get("show") == "1", guest=params.get("class") == "1", present=present,
                    screen=screen if present and re.fullmatch(SCREEN, screen, re.ASCII) else "",
                    entry=int(entry) if present and re.fullmatch(NUMBER, entry, re.ASCII) else 0)
    return shown.with_control_values(page, **{control.name: clean[control.name] for control in controls
                                              if clean.get(control.name, control.start) != control.start})


def _asked(params: Mapping[str, str]) -> State:
    """Parse the model, texts and picture. A text that the URL names but does not contain, or that is damaged, is
    absent; it is not replaced by the default."""
    texts: dict[str, Any] = {"model": params["model"]} if params.get("model") else {}
    absent = set()
    for field in TEXTS:
        if params.get(field) or (field == "text" and field in params):
            texts[field] = params[field]
        elif (packed := params.get(f"{field}_z")) is not None and (text := unpack(packed)) is not None:
            texts[field] = text
        elif packed is not None or f"{field}_id" in params:
            name = params.get(f"{field}_id", "")
            absent.add((field, name if re.fullmatch(SHORT_NAME, name) else ""))
    if any(field == "text" for field, _ in absent):
        texts["text"] = ""
    if re.fullmatch(IMAGE, params.get("image", "")):
        texts["image"] = params["image"]
    texts["chat"] = params.get("chat") == "1"
    texts["continuation"] = CONTINUATION.read(params.get("continuation", "none")) or ()
    return replace(START, **texts, absent_texts=frozenset(absent))


def _looks(params: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of the view that the parameters set."""
    view = {name: form.read(params[name]) for name, form in FORMS.items()
            if name in params and re.fullmatch(form.pattern, params[name], re.ASCII)}
    if not {"layer", "head"} <= view.keys():
        view = {name: value for name, value in view.items() if name not in ("layer", "head")}
    return view


def address(base: str, state: State, page: str = "", controls: Iterable[Control] = (), named: bool = True) -> str:
    """Return the full link: the page's URL without its query (`base`), plus the state's parameters. named: see
    `to_params`."""
    params = to_params(state, page, controls, named)
    return base.split("?")[0] + ("?" + urlencode(params) if params else "")
