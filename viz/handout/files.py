"""A handout as a file: JSON in UTF-8, the messages in base64. What is loaded is checked item by item before anything of
it is drawn."""
import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from model.core.limits import LIMITS, parse_json
from model.core.query import UserError
from viz.handout.item import Item

WRITTEN = 2   # bytes of a file, at most, for each byte of a figure: base64 and the signs of JSON
MADE_BY, VERSION = "Clearhead handout", 1
# kinds as files saved before 2026-12 call them
RENAMED = {"drag": "handles", "cells": "mask_editor", "anatomy": "transformer_diagram"}
ID = re.compile(r"[0-9a-f]{12}")   # of a figure: the same for two servers that read one file
FIELDS = ("kind", "caption", "about", "link", "source", "body", "state")


@dataclass(frozen=True)
class Handout:
    """A title and figures in their order."""

    title: str = ""
    items: tuple[Item, ...] = ()

    def __post_init__(self) -> None:
        LIMITS.refuse_above("handout_title", len(self.title), "The title", "shorten it")
        LIMITS.refuse_above("handout_items", len(self.items), "The handout", "take some out")
        LIMITS.refuse_above("handout_bytes", self.nbytes, "The handout", "take a figure out, begin a second handout")

    @property
    def nbytes(self) -> int:
        """Bytes of all its figures."""
        return sum(item.nbytes for item in self.items)


def save(handout: Handout) -> bytes:
    """The handout as a file that `load` reads."""
    items = [{"id": item.id, "kind": item.kind, "caption": item.caption, "about": item.about, "link": item.link,
              "source": item.source, "body": base64.b64encode(item.body).decode("ascii"),
              "state": base64.b64encode(item.state).decode("ascii")} for item in handout.items]
    return json.dumps({"made_by": MADE_BY, "version": VERSION, "title": handout.title, "items": items},
                      ensure_ascii=True, indent=1).encode("ascii")


def load(content: bytes) -> Handout:
    """The handout in a file, whoever wrote it. Raises UserError, in one sentence, for a file that is none, too large,
    or damaged."""
    LIMITS.refuse_above("handout_bytes", len(content) / WRITTEN, "The handout in this file", "choose another file")
    try:
        document = parse_json(content, "This handout")
        if document["made_by"] != MADE_BY:
            raise ValueError("another file")
        if document["version"] != VERSION:
            raise UserError("This handout was saved by a newer Clearhead; open it with that one.")
        items = document["items"][:LIMITS.handout_items + 1]
        texts: list[dict[str, Any]] = [{name: _text(item[name]) for name in FIELDS} for item in items]
        for text in texts:
            text["kind"] = RENAMED.get(text["kind"], text["kind"])
        title = _text(document["title"])
        messages: list[dict[str, Any]] = [{name: base64.b64decode(text[name], validate=True)
                                           for name in ("body", "state")} for text in texts]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            "This file is not a handout that Clearhead saved; choose one that ends in .handout.json.") from error
    return Handout(title, tuple(Item(**text | message | name) for text, message, name
                                in zip(texts, messages, _ids(items), strict=True)))


def _ids(items: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The name of each figure as a field of an Item, without those that are none, or that an earlier one has: such
    figures get a new one."""
    ids: list[dict[str, str]] = []
    for name in (item.get("id") for item in items):
        mine = {"id": name} if isinstance(name, str) and ID.fullmatch(name) else {}
        ids.append({} if mine in ids else mine)
    return ids


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return value.encode("utf-8", "replace").decode("utf-8")
