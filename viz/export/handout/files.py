"""A handout (called My lesson on the pages) is a list of figures, page screens, texts and questions. Its file is JSON
in UTF-8, with the messages in base64.

`make_item` validates everything that enters a handout, from the page or from a file.
"""
import base64
import json
import re
import uuid
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.query import UserError, frozen

WRITTEN = 2   # upper bound on the file's bytes per byte of a figure, because of base64 and JSON syntax
MADE_BY, VERSION = "Clearhead handout", 1
ID = re.compile(r"[0-9a-f]{12}")   # a figure's id, which is stored, so that two servers sharing a file agree on it
FIELDS = ("kind", "caption", "about", "link", "source", "body", "state")
KINDS = ("head_view", "head_grid", "picture_view", "chart", "table")
SPOKEN = ("screen", "text", "question")   # entries without a figure; a screen shows the page in its link


@frozen
class Item:
    """An entry of a handout, usually a figure, with its texts; created by `make_item`."""

    kind: str           # one of KINDS (the component, a chart or a table) or of SPOKEN
    # the component's message (viz/components/messages.py), plotly's JSON, a table's cells as JSON or, for SPOKEN, a
    # `Said` as JSON
    body: bytes
    state: bytes        # the component's second message; empty for charts and tables
    id: str             # the item's id in its handout
    caption: str = ""   # text for the reader
    about: str = ""     # the figure's origin in words
    link: str = ""      # URL of the state, or ""
    source: str = ""    # machine-readable provenance as JSON

    @property
    def nbytes(self) -> int:
        """Size of the entry and its texts in bytes."""
        return sum(map(len, (self.body, self.state, self.caption, self.about, self.link, self.source)))

    @property
    def said(self) -> dict[str, Any]:
        """Title, minutes and answer of an entry without a figure."""
        return json.loads(self.body) if self.kind in SPOKEN else {}

    def with_caption(self, caption: str) -> "Item":
        """Return a copy with another caption."""
        return replace(self, caption=caption)


def make_item(kind: str, body: bytes, state: bytes = b"", *, id: str = "", caption: str = "", about: str = "",
              link: str = "", source: str = "") -> Item:
    """Validate an entry and return it. Raises UserError for invalid input."""
    from clearhead.viz.export.handout.schema import (
        checked,  # imported here because the first page does not need pydantic
    )

    if kind not in (*KINDS, *SPOKEN):
        raise UserError("This handout contains a figure that this version of Clearhead cannot draw; save it again with "
                        "the version that made it.")
    for name, limit, text in (("caption", "handout_caption", caption), ("about", "handout_about", about),
                              ("link", "link_length", link), ("source", "handout_source", source)):
        LIMITS.refuse_above(limit, len(text), f"The {name} of a figure", "shorten it")
    if link and urlsplit(link).scheme not in ("http", "https"):
        raise UserError("A figure's link is not a web address; remove it.")
    if not _is_object(source):
        raise UserError("The provenance of a figure cannot be read; remove the figure from the handout.")
    id = id or uuid.uuid4().hex[:12]
    if kind == "screen" and not link:
        raise UserError("A screen of this list has no page; remove it.")
    body, state = checked("words" if kind in SPOKEN else kind, body, state, id)
    return Item(kind, body, state, id, caption, about, link, source)


def make_words(kind: str, caption: str, *, link: str = "", id: str = "", **said: object) -> Item:
    """Create an entry without a figure. said: title, minutes and answer. Raises UserError for invalid input."""
    return make_item(kind, json.dumps(said).encode(), caption=caption, link=link, id=id)


def _is_object(source: str) -> bool:
    """Return whether a provenance is a JSON object, or empty."""
    try:
        return not source or isinstance(parse_json(source.encode("utf-8", "replace"), "The provenance of a figure"),
                                        dict)
    except ValueError:
        return False


@frozen
class Handout:
    """A title and an ordered list of entries."""

    title: str = ""
    items: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        LIMITS.refuse_above("handout_title", len(self.title), "The title", "shorten it")
        LIMITS.refuse_above("handout_items", len(self.items), "The handout", "take some out")
        LIMITS.refuse_above("handout_bytes", self.nbytes, "The handout", "take a figure out, begin a second handout")

    @property
    def nbytes(self) -> int:
        """Size of all entries in bytes."""
        return sum(item.nbytes for item in self.items)


def save(handout: Handout) -> bytes:
    """Return the handout as a file that `load` can read."""
    items = [{"id": item.id, "kind": item.kind, "caption": item.caption, "about": item.about, "link": item.link,
              "source": item.source, "body": base64.b64encode(item.body).decode("ascii"),
              "state": base64.b64encode(item.state).decode("ascii")} for item in handout.items]
    return json.dumps({"made_by": MADE_BY, "version": VERSION, "title": handout.title, "items": items},
                      ensure_ascii=True, indent=1).encode("ascii")


def load(content: bytes) -> Handout:
    """Load a handout from an untrusted file. Raises UserError if the file is too large, damaged or not a handout."""
    LIMITS.refuse_above("handout_bytes", len(content) / WRITTEN, "The handout in this file", "choose another file")
    try:
        document = parse_json(content, "This handout")
        if document["made_by"] != MADE_BY:
            raise ValueError("another file")
        if document["version"] != VERSION:
            raise UserError("This handout was saved by a newer version of Clearhead; open it with that version.")
        title = _text(document["title"])
        figures: list[dict[str, Any]] = []
        for item in document["items"][:LIMITS.handout_items + 1]:
            figure: dict[str, Any] = {name: _text(item[name]) for name in FIELDS}
            figure |= {name: base64.b64decode(figure[name], validate=True) for name in ("body", "state")}
            known = {each.get("id") for each in figures}   # two figures with the same id would be the same widget
            if isinstance(name := item.get("id"), str) and ID.fullmatch(name) and name not in known:
                figure["id"] = name
            figures.append(figure)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            "This file is not a handout saved by Clearhead; choose a .handout.json file.") from error
    return Handout(title, tuple(make_item(**figure) for figure in figures))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value.encode("utf-8", "replace").decode("utf-8")
