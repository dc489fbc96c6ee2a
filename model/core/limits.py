"""What bounds everything that comes from outside, in one place: checked before memory or time is spent.

Those in SETTINGS can be set in the environment, by CLEARHEAD_ and the name in capitals, read once as Python starts;
names that end in `_bytes` in megabytes of 2**20 bytes, by a variable that ends in `_MB`: `import_bytes` by
CLEARHEAD_IMPORT_MB. `python -m model limits` shows them.
"""
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.core.query import UserError

MB = 2**20


@dataclass(frozen=True)
class Limits:
    """The bounds in force."""

    # a file that somebody opens
    file_bytes: int = 200 * MB               # as it is packed
    session_bytes: int = 512 * MB
    total_bytes: int = 512 * MB
    import_bytes: int = 256 * MB
    record_cells: int = 1_000_000_000        # weights of one saved record, computed when they are drawn
    arrays: int = 5_000
    heads: int = 20_000
    layers: int = 512
    tensors: int = 500_000
    header_bytes: int = 25 * MB              # of one file of tensors
    tokens: int = 4_096
    json_bytes: int = 64 * MB
    json_values: int = 5_000_000             # as its signs let it have at most
    depth: int = 64                          # lists and objects within one another
    case_rows: int = 20_000                  # one file of cases
    corpus_text: int = 20_000                # characters of one text of a file of texts
    corpus_line: int = 1_000_000             # bytes
    atlas_bytes: int = 512 * MB              # one Parquet file of an atlas
    sentence_words: int = 1_000              # of a treebank
    treebank_words: int = 400_000
    choices_bytes: int = 512 * MB            # what the heads look at in one treebank, 2 bytes a head and word
    # a picture that somebody opens
    picture_bytes: int = 48 * MB             # as it is packed
    picture_pixels: int = 64_000_000         # as its file states them
    picture_length: int = 65_535             # pixels of a side
    picture_growth: int = 200                # pixels a byte of one that is larger than what is held of it
    picture_work_bytes: int = 200 * MB       # while it is decoded, by an estimate
    picture_scans: int = 100                 # of a JPEG
    picture_kept: int = 4_194_304            # pixels as it is held; a larger one is shrunk
    picture_session_bytes: int = 64 * MB
    picture_total_bytes: int = 256 * MB
    # a handout
    handout_bytes: int = 24 * MB
    handouts_bytes: int = 256 * MB
    handout_items: int = 100
    handout_title: int = 200
    handout_caption: int = 2_000
    handout_about: int = 1_000               # characters of what a figure says of where it comes from
    handout_source: int = 100_000            # characters of a figure's provenance
    handout_text: int = 4_000                # characters of any other text in a figure
    handout_parts: int = 64                  # boxes, handles, or cells a side of a figure
    chart_bytes: int = 8 * MB
    table_bytes: int = 2 * MB
    table_rows: int = 2_000
    table_columns: int = 40
    # what somebody types, and a link
    longest_text: int = 1_000_000
    link_text: int = 1_500                   # bytes of a text that a link holds as it is; a longer one is packed
    link_unpacked: int = 200_000             # bytes
    link_length: int = 8_000                 # characters
    # what an answer may take of this machine
    longest_wait: float = 600.0
    measure_bytes: int = 1024 * MB
    cache_bytes: int = 1024 * MB
    kept_bytes: int = 256 * MB               # records on disk; model/ask/kept.py
    models_bytes: int = 6144 * MB
    trainings: int = 2

    def refuse_above(self, name: str, amount: float, whose: str, way_out: str) -> None:
        """Raises UserError where `amount` is above the limit of this name. `whose`: the file or thing that has so much;
        `way_out`: what can be done about it, beside another setting where there is one."""
        most = getattr(self, name)
        if amount > most:
            more = f", or set {setting_of(name)} higher" if name in SETTINGS else ""
            has, limit = _written(amount, name), _written(most, name)
            same = f" {_unit(name)}" if has.endswith(_unit(name)) else ""   # the unit stands there once
            raise UserError(f"{whose} has {has} and the limit is {limit.removesuffix(same)}; {way_out}{more}.")


# what an operator may turn, and what it bounds
SETTINGS = {
    "file_bytes": "one uploaded file, as it is packed",
    "session_bytes": "the imported files of one session",
    "total_bytes": "the imported files of all sessions",
    "import_bytes": "the weights in one imported file, 4 bytes a cell",
    "tokens": "tokens a side of imported attention or of a handout's figure",
    "picture_session_bytes": "the pictures of one session",
    "picture_total_bytes": "the pictures of all sessions",
    "handout_bytes": "the figures of one handout",
    "handouts_bytes": "the handouts of all visitors",
    "longest_text": "characters of a text that a model is asked about",
    "longest_wait": "seconds that an answer may take, by its estimate",
    "measure_bytes": "one measurement on the page What it costs",
    "cache_bytes": "the answers that are kept",
    "models_bytes": "the models that are kept open",
    "trainings": "trainings at once on one server"}
# the unit of limits whose name does not end in it
UNITS = {"corpus_line": "bytes", "link_text": "bytes", "link_unpacked": "bytes",
         "depth": "levels", "picture_growth": "pixels a byte",
         "picture_length": "pixels", "picture_kept": "pixels", "handout_items": "figures", "record_cells": "weights",
         "longest_wait": "seconds", **dict.fromkeys(("corpus_text", "handout_title", "handout_caption", "handout_about",
                                                     "handout_source", "handout_text", "longest_text", "link_length"),
                                                    "characters")}


def setting_of(name: str) -> str:
    """The variable of the environment that sets the limit of this name."""
    return f"CLEARHEAD_{name.upper().removesuffix('_BYTES')}{'_MB' if name.endswith('_bytes') else ''}"


def _unit(name: str) -> str:
    return UNITS.get(name, name.rpartition("_")[2])


def _written(amount: float, name: str) -> str:
    unit, amount = _unit(name), min(amount, 2**60)   # a file may say any number
    if unit == "bytes" and amount >= MB:
        amount, unit = math.ceil(100 * amount / MB) / 100, "MB"
    return f"{amount:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def from_environment(environment: Mapping[str, str]) -> Limits:
    """The defaults, and what the environment sets otherwise. Raises UserError for a setting that is no number."""
    values: dict[str, Any] = {}
    for name in SETTINGS:
        if text := environment.get(setting_of(name), "").strip():
            default, scale = getattr(Limits(), name), MB if name.endswith("_bytes") else 1
            try:
                values[name] = type(default)(float(text) * scale)
            except (ValueError, OverflowError):   # NaN and infinity among them
                values[name] = -1
            if values[name] < (name != "trainings"):
                raise UserError(f"{setting_of(name)} is {text[:60]!r} and must be a number above 0; change it or leave "
                                f"it out.")
    return Limits(**values)


LIMITS = from_environment(os.environ)


def as_rows(limits: Limits) -> list[dict[str, Any]]:
    """A row for each setting: its name, value and default, and what it bounds; values in the setting's unit."""
    return [{"setting": setting_of(name), "of": of,
             **{key: getattr(each, name) / (MB if name.endswith("_bytes") else 1)
                for key, each in (("value", limits), ("default", Limits()))}} for name, of in SETTINGS.items()]


def parse_json(content: bytes, whose: str) -> Any:
    """What `json.loads` makes of it. Raises UserError, beginning with `whose`, above the limits of bytes, of values and
    of depth, and ValueError for what is no JSON."""
    smaller = "choose a smaller one"
    LIMITS.refuse_above("json_bytes", len(content), whose, smaller)
    LIMITS.refuse_above("json_values", sum(map(content.count, (b"[", b"{", b","))), whose, smaller)
    try:
        value = json.loads(content)
    except RecursionError:
        value, levels = None, sys.getrecursionlimit()   # at least
    else:
        levels = depth_of(value)
    LIMITS.refuse_above("depth", levels, whose, "choose one that Clearhead or transformers wrote")
    return value


def depth_of(value: Any) -> int:
    """How many lists and objects stand within one another: 0 for a number, 1 for a list of numbers."""
    level, depth = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        depth += 1
    return depth
