"""The provenance of an exported file: one JSON string with the question and the view.

The string is pure ASCII with JSON escapes, so every format preserves it, including lone surrogates and NUL.
"""
import dataclasses
import functools
import importlib.metadata
import ipaddress
import json
import math
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from clearhead.model.core import pictures
from clearhead.model.core.query import QUOTED, Edit, HeadId, Patch, Query, UserError, described
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.record_file import plain
from clearhead.model.core.version import VERSION, commit
from clearhead.model.core.view import View
from clearhead.viz.app.link import unpack
from clearhead.viz.style.numbers import format_difference
from clearhead.viz.style.text import Texts, strings

MADE_BY = "Clearhead"
# host suffixes of local networks
INSIDE = (".localhost", ".local", ".lan", ".internal", ".intranet", ".home", ".home.arpa")
MODELS = ("model", "against", "folder")   # URL parameters that may contain this machine's folders
HASH = 8   # digits of a hash in a caption; the provenance has all of them
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "matplotlib")


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of the software that computed and drew a file, without importing that software."""
    by_package = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            by_package[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return by_package


def public_name(model: str) -> str:
    """Return a model's id without local folders, which could reveal an author to a blind reviewer."""
    return Path(model).name if _is_path(model) or Path(model).exists() else model


def _is_path(text: str) -> bool:
    """Return whether a string looks like a local path."""
    return text.startswith((".", "~")) or Path(text).is_absolute()


def describe(record: AttentionRecord, view: View, link: str = "", paths: bool = False,
             heads: Sequence[HeadId] | None = None) -> dict:
    """Return the provenance as plain values: the question, the model and its verification, the view, the versions and
    the link. paths: include full local paths. heads: the heads that the file shows, empty for all of
    them; by default the view's."""
    query, card, named = record.asked, record.card, str if paths else public_name
    return {
        "made_by": MADE_BY, "version": VERSION, "commit": commit(),
        "model": named(query.model), "title": card.title, "revision": query.revision,
        "licence": card.licence, "text": query.text, "text_b": query.text_b, "target": query.target,
        "image": image_of(query), "chat": query.chat,
        "continuation": list(query.continuation), "ids": list(query.ids),
        "edits": [_plain(edit, named) for edit in sorted(query.edits, key=repr)],
        "kind": view.kind.value, "layer": view.layer, "head": view.head,
        "heads": "all" if heads is not None and not heads else [list(head) for head in heads or (view.head_id,)],
        "view": plain(view), "verification": plain(record.verification), "omitted": plain(record.omitted),
        "versions": versions(),
        "link": link if opens_elsewhere(link) else ""}


def image_of(query: Query) -> dict[str, str] | None:
    """Return a query's picture: its file's hash and, if it is stored here, its name, licence and source. None without a
    picture."""
    if query.image is None:
        return None
    try:
        picture = pictures.find(query.image)
    except UserError:   # deleted since
        return {"sha256": query.image, "name": "", "licence": "", "source": ""}
    return {"sha256": query.image, "name": picture.name, "licence": picture.licence, "source": picture.source}


def _image_in_words(query: Query, phrases: Texts) -> str:
    image = (image_of(query) or {}) | {"sha256": (query.image or "")[:HASH]}
    form = "image" if image.get("licence") else "image_own" if image.get("name") else "image_gone"
    return phrases(form, **image)


def _plain(edit: Edit, named: Callable[[str], str]) -> dict:
    """Return an edit as JSON values. The text that a patch is taken from cannot itself have edits."""
    values = {"edit": type(edit).__name__.lower(), **dataclasses.asdict(edit)}
    if isinstance(edit, Patch):
        other = edit.from_query
        values["from_query"] |= {"model": named(other.model), "edits": [], "continuation": list(other.continuation),
                                 "image": image_of(other)}
    return values


def dumps(record: AttentionRecord, view: View, link: str = "", paths: bool = False,
          heads: Sequence[HeadId] | None = None) -> str:
    """Return the provenance as one line of ASCII JSON."""
    return json.dumps(describe(record, view, link, paths, heads), ensure_ascii=True, allow_nan=False)


def stated_address() -> str:
    """Return this server's public URL from CLEARHEAD_ADDRESS, or ""."""
    stated = os.environ.get("CLEARHEAD_ADDRESS", "").strip().rstrip("/")
    return stated if stated.startswith(("http://", "https://")) else ""


def opens_elsewhere(link: str) -> bool:
    """Return whether a URL can be opened outside the local network: its host is public or the one in CLEARHEAD_ADDRESS,
    and it contains no local folders."""
    try:
        if any(_is_path(value) for name, value in parse_qsl(urlsplit(link).query) if name in MODELS):
            return False
        host = (urlsplit(link).hostname or "").rstrip(".")
        if stated_address() and link.startswith(stated_address()):
            return True
        with suppress(ValueError):
            number = ipaddress.ip_address(host)
            return (getattr(number, "ipv4_mapped", None) or number).is_global
    except ValueError:   # invalid URL
        return False
    return "." in host and not host.endswith(INSIDE) and not host.rsplit(".")[-1].isdigit()


def opens_here_alone(link: str) -> bool:
    """Return whether a URL such as localhost refers to whichever machine opens it."""
    host = (urlsplit(link).hostname or "").rstrip(".")
    with suppress(ValueError):
        number = ipaddress.ip_address(host)
        number = getattr(number, "ipv4_mapped", None) or number
        return number.is_loopback or number.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def stamp() -> str:
    """Return Clearhead's version and commit."""
    return f"{MADE_BY} {VERSION}" + (f" (commit {commit()[:10]})" if commit() else "")


def way_back(link: str, said: str = "") -> str:
    """Return the text by which a caption identifies the state: its URL if others can open it, otherwise the page and
    its settings in words. said: the caption so far; a model and texts that it mentions are not repeated."""
    if not link or opens_elsewhere(link):
        return link
    return strings("export")("way_back", state=state_in_words(link, said))


def state_in_words(link: str, said: str = "") -> str:
    """Return a URL's page and settings in words, without the server. said: see `way_back`."""
    phrases, address = strings("export"), urlsplit(link)
    params = dict(parse_qsl(address.query, keep_blank_values=True))
    asked = [("model", public_name(params.pop("model", "")))]
    for field in ("text", "text_b", "target"):
        text = params.pop(field, "") or unpack(params.pop(f"{field}_z", "")) or ""
        asked.append((field, _quoted(text, phrases) if text else ""))
    chosen = [(name, value) for name, value in asked if value and value not in said]
    params |= {"image": params.get("image", "")[:HASH]}
    chosen += [(name, Path(value).name if name in MODELS and _is_path(value) else value)
               for name, value in params.items()
               if value and name not in ("present", "screen") and not name.endswith("_id")]
    words = ", ".join(f"{name.replace('_', ' ')} {value}".strip() for name, value in chosen)
    page = address.path.rstrip("/").rsplit("/", 1)[-1] or "heads"
    return phrases("state" if words else "state_plain", page=page.replace("_", " "), words=words)


def sentences(record: AttentionRecord, link: str = "") -> tuple[list[str], list[str]]:
    """Return the provenance for a picture's caption as sentences: those on the texts, and those on the picture's
    origin."""
    phrases, query, card = strings("export"), record.asked, record.card
    texts = [_quoted(text, phrases) for text in (query.text, query.text_b, query.target) if text]
    texts += [_image_in_words(query, phrases)] if query.image is not None else []
    lines = [phrases("model", title=card.title, model=public_name(query.model), revision=query.revision[:HASH])]
    if query.edits:
        lines.append(phrases["edits"] + ", ".join(described(edit) for edit in sorted(query.edits, key=repr)))
    if record.omitted is not None:
        lines.append(phrases("omitted", count=record.omitted.count, limit=record.omitted.limit))
    lines.append(_checked(record, phrases))
    back = way_back(link, said=" ".join([*texts, *lines]))
    return texts, [*lines, *([back] if back else [])]


def _quoted(text: str, phrases: Texts) -> str:
    """Return a text on one line. A long text is truncated, with its length."""
    words = " ".join(text.split())
    return phrases("quoted", text=words) if len(words) <= QUOTED else phrases(
        "begun", text=words[:QUOTED], count=len(text))


def _checked(record: AttentionRecord, phrases: Texts) -> str:
    """Return the verification status, with the difference in the forward pass if all heads were compared."""
    error, status = record.verification.max_error, record.verification.status
    compared = math.isfinite(error) and status != "computed"
    return phrases["checked"][status] + (phrases("difference", error=format_difference(error)) if compared else "")
