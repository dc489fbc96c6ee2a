"""Encode My lesson in a link: each entry's text and the URL of its state, without figures and answers. Ready-made lists
use the same format."""
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import UserError
from clearhead.viz.app.link import MOST_PACKED, pack, unpack
from clearhead.viz.app.page_controls import ANSWER
from clearhead.viz.components.picture import require
from clearhead.viz.export.handout.files import Handout, Item, make_words
from clearhead.viz.export.handout.values import SPOKEN
from clearhead.viz.style.text import FOLDER, addresses, page_at, strings

FIELDS = ("kind", "at", "caption", "title", "minutes", "answer", "choices")   # an entry's fields in order
DRAWN = ("head_view", "head_grid")   # figures that can be redrawn from the state
Draw = Callable[[str, str, str], Item | None]   # draw(kind, link, caption) returns one of DRAWN, or None


def target(link: str) -> tuple[str, dict[str, str]]:
    """Return a URL's page and its parameters without answers."""
    address = urlsplit(link)
    params = dict(parse_qsl(address.query, keep_blank_values=True))
    return (page_at(address.path.rstrip("/").rsplit("/", 1)[-1] or "heads"),
            {name: value for name, value in params.items() if name != "predict" and not ANSWER.fullmatch(name)})


def without_answers(link: str, **more: str) -> str:
    """Return the URL without answers and with `more` parameters added."""
    params = target(link)[1] | more
    return link.partition("?")[0] + ("?" + urlencode(params) if params else "")


def packed(handout: Handout) -> str:
    """Encode the list for a link. Raises UserError if it is too long."""
    rows = []
    for item in handout.items:
        page, params = target(item.link)
        said = {"title": item.about.split(" · ")[0]} | item.said
        kind = item.kind if item.kind in (*SPOKEN, *DRAWN) else "screen"
        at = f"{addresses().get(page, page)}?{urlencode(params)}" if item.link else ""
        rows.append([kind, at, item.caption, said["title"], item.minutes, said.get("answer", ""),
                     "\n".join(said.get("choices", ()))])
    text = pack(json.dumps([handout.title, rows], ensure_ascii=False, separators=(",", ":")))
    if text is None or len(text) > MOST_PACKED:
        raise UserError(strings("handout")["link_long"])
    return text


def unpacked(text: str, base: str, draw: Draw = lambda kind, link, caption: None) -> Handout:
    """Decode a list from a link. base: common prefix of all URLs. draw: creates the figures in DRAWN; if it returns
    None, the entry becomes a screen. Raises UserError for an invalid list."""
    try:
        title, rows = parse_json((unpack(text) or "").encode(), "The list of this link")
        entries = [dict(zip(FIELDS, row, strict=True)) for row in rows[:LIMITS.handout_items]]
        require(all(type(entry[name]) is (int if name == "minutes" else str) for entry in entries for name in FIELDS)
                and isinstance(title, str))
        return Handout(title, tuple(_entry(entry, base, draw) for entry in entries))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(strings("handout")["link_broken"]) from error


def ready(base: str, draw: Draw = lambda kind, link, caption: None) -> Handout:
    """Return the ready-made list for a first lecture, assets/text/en/ninety_minutes.toml."""
    read = tomllib.loads((FOLDER / "ninety_minutes.toml").read_text(encoding="utf-8"))
    return Handout(read["title"], tuple(_entry(entry, base, draw) for entry in read["entry"]))


def _entry(entry: Mapping[str, Any], base: str, draw: Draw) -> Item:
    kind, caption, at = entry["kind"], entry.get("caption", ""), entry.get("at", "")
    link, minutes = base + at if at else "", entry.get("minutes", 0)
    if kind in DRAWN and (drawn := draw(kind, link, caption)) is not None:
        return replace(drawn, minutes=minutes)
    choices = tuple(entry.get("choices", "").splitlines())
    return make_words(kind if kind in SPOKEN else "screen", caption, link=link, minutes=minutes,
                      title=entry.get("title", ""), answer=entry.get("answer", ""), choices=choices)
