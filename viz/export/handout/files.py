"""A handout (called My lesson on the pages) is a list of figures, page screens, texts and questions. Its file is JSON
in UTF-8, with the entries' values as values.py writes them."""
import json
import re
import uuid
from dataclasses import field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from clearhead.model.core.limits import LIMITS, parse_json
from clearhead.model.core.memory import bytes_of
from clearhead.model.core.query import UserError, frozen
from clearhead.viz.export.handout.values import DAMAGE, SPOKEN, Value, Words, array_or_pairs, plain, read

WRITTEN = 1.6   # upper bound on the file's bytes per byte of a figure, because of base64 and JSON syntax
MADE_BY, VERSION = "Clearhead handout", 3
ID = re.compile(r"[0-9a-f]{12}")   # a figure's id, which is stored, so that two servers sharing a file agree on it
MOST_MINUTES = 999
TEXTS = {"caption": "handout_caption", "about": "handout_about", "link": "link_length", "source": "handout_source"}


def new_id() -> str:
    """Return an id for an entry."""
    return uuid.uuid4().hex[:12]


@frozen
class Item:
    """An entry of a handout, usually a figure, with its texts. Raises UserError for invalid texts."""

    value: Value
    id: str = field(default_factory=new_id)   # the item's id in its handout
    caption: str = ""   # text for the reader
    about: str = ""     # the figure's origin in words
    link: str = ""      # URL of the state, or ""
    source: str = ""    # machine-readable provenance as JSON
    minutes: int = 0    # planned for presenting it; 0 if not planned

    def __post_init__(self) -> None:
        for name, limit in TEXTS.items():
            LIMITS.refuse_above(limit, len(getattr(self, name)), f"The {name} of a figure", "shorten it")
        if type(self.minutes) is not int or not 0 <= self.minutes <= MOST_MINUTES:
            raise UserError(f"An entry's minutes must be a whole number from 0 to {MOST_MINUTES}; change them.")
        if self.link and urlsplit(self.link).scheme not in ("http", "https"):
            raise UserError("A figure's link is not a web address; remove it.")
        if not _is_object(self.source):
            raise UserError("The provenance of a figure cannot be read; remove the figure from the handout.")
        if self.kind == "screen" and not self.link:
            raise UserError("A screen of this list has no page; remove it.")

    @property
    def kind(self) -> str:
        """The folder of the component that draws the value, "chart", "table" or one of SPOKEN."""
        return self.value.component

    @cached_property
    def nbytes(self) -> int:
        """Size of the entry and its texts in bytes."""
        return bytes_of([self.value, *(getattr(self, name) for name in TEXTS)])

    @property
    def said(self) -> dict[str, Any]:
        """The fields of an entry without a figure."""
        return vars(self.value) if self.kind in SPOKEN else {}

    def changed(self, **fields: Any) -> "Item":
        """Return a copy with other texts or minutes, or with other fields of `Words`. Raises UserError for invalid
        input."""
        said = {name: fields.pop(name) for name in self.said.keys() & fields.keys()}
        return replace(self, value=replace(self.value, **said) if said else self.value, **fields)


def make_words(kind: str, caption: str, *, link: str = "", minutes: int = 0, **said: Any) -> Item:
    """Create an entry without a figure. said: fields of `Words`. Raises UserError for invalid input."""
    return Item(Words(kind, **said), caption=caption, link=link, minutes=minutes)


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
    items = [{name: getattr(item, name) for name in ("id", "kind", "minutes", *TEXTS)} | {"value": plain(item.value)}
             for item in handout.items]
    return json.dumps({"made_by": MADE_BY, "version": VERSION, "title": handout.title, "items": items},
                      ensure_ascii=True, indent=1).encode("ascii")


def load(content: bytes) -> Handout:
    """Load a handout from an untrusted file. Raises UserError if the file is too large, damaged or not a handout."""
    LIMITS.refuse_above("handout_bytes", len(content) / WRITTEN, "The handout in this file", "choose another file")
    try:
        document = parse_json(content, "This handout", array_or_pairs)
        if document["made_by"] != MADE_BY:
            raise ValueError("another file")
        if document["version"] != VERSION:
            raise UserError("This handout was saved by another version of Clearhead; open it with that version.")
        title, items = _text(document["title"]), list[Item]()
        for entry in document["items"][:LIMITS.handout_items + 1]:
            texts = {name: _text(entry[name]) for name in TEXTS}
            known = {each.id for each in items}   # two figures with the same id would be the same widget
            name = entry.get("id")
            usable = isinstance(name, str) and ID.fullmatch(name) and name not in known
            items.append(Item(read(entry["kind"], entry["value"]), name if usable else new_id(),
                              minutes=entry["minutes"], **texts))
    except DAMAGE as error:
        raise UserError(
            "This file is not a handout saved by Clearhead; choose a .handout.json file.") from error
    return Handout(title, tuple(items))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value.encode("utf-8", "replace").decode("utf-8")
