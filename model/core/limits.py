"""Limits on untrusted input and on resources, some of which an operator can set."""
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from clearhead.model.core.query import UserError, frozen

MB = 2**20


@frozen
class Limits:
    """The limits in force."""

    # an opened file
    file_bytes: int = 200 * MB               # compressed
    session_bytes: int = 512 * MB
    total_bytes: int = 512 * MB
    import_bytes: int = 256 * MB
    record_cells: int = 1_000_000_000        # weights in one saved record, computed on display
    arrays: int = 5_000
    heads: int = 20_000
    layers: int = 512
    header_bytes: int = 25 * MB              # per file of tensors
    tokens: int = 4_096
    json_bytes: int = 64 * MB
    json_values: int = 5_000_000             # estimated from its characters
    case_rows: int = 20_000                  # per file of cases
    corpus_text: int = 20_000                # characters per text in a file of texts
    corpus_line: int = 1_000_000             # bytes
    sentence_words: int = 1_000              # per sentence of a treebank
    treebank_words: int = 400_000
    choices_bytes: int = 512 * MB            # attention choices over one treebank, 2 bytes per head and word
    # an opened picture
    picture_bytes: int = 48 * MB             # compressed
    picture_pixels: int = 64_000_000         # as declared in the file
    picture_length: int = 65_535             # pixels per side
    picture_growth: int = 200                # pixels per byte, for pictures larger than picture_kept
    picture_work_bytes: int = 200 * MB       # estimated, while decoding
    picture_scans: int = 100                 # per JPEG
    picture_kept: int = 4_194_304            # pixels; larger pictures are shrunk
    picture_session_bytes: int = 64 * MB
    picture_total_bytes: int = 256 * MB
    # a handout
    handout_bytes: int = 40 * MB
    handouts_bytes: int = 256 * MB
    handout_items: int = 100
    handout_title: int = 200
    handout_caption: int = 2_000
    handout_about: int = 1_000               # characters of a figure's description of its origin
    handout_source: int = 100_000            # characters of a figure's provenance
    handout_text: int = 4_000                # characters of any other text in a figure
    chart_bytes: int = 8 * MB
    table_bytes: int = 2 * MB
    table_rows: int = 2_000
    table_columns: int = 40
    # typed text, and links
    longest_text: int = 1_000_000
    link_text: int = 1_500                   # bytes of text stored uncompressed in a link; longer text is compressed
    link_unpacked: int = 200_000             # bytes
    link_length: int = 8_000                 # characters
    # resources for answers
    longest_wait: float = 600.0
    measure_bytes: int = 1024 * MB
    cache_bytes: int = 1024 * MB
    kept_bytes: int = 256 * MB               # records on disk; see model/ask/kept.py
    models_bytes: int = 6144 * MB
    trainings: int = 2

    def refuse_above(self, name: str, amount: float, whose: str, way_out: str) -> None:
        """Raise UserError if `amount` exceeds the limit `name`. `whose` names the oversized file or object. `way_out`
        says what to do, besides changing the setting if there is one."""
        most = getattr(self, name)
        if amount > most:
            more = f", or set {setting_of(name)} higher" if name in SETTINGS else ""
            unit = UNITS.get(name, name.rpartition("_")[2])
            scale, unit = (MB, "MB") if unit == "bytes" and most >= MB else (1, unit)
            # a file can declare any number
            has, limit = (f"{math.ceil(100 * min(each, 2**60) / scale) / 100:,.15g}" for each in (amount, most))
            raise UserError(f"{whose} has {has} {unit} and the limit is {limit}; {way_out}{more}.")


# the settings an operator can change, and what each limits
SETTINGS = {
    "file_bytes": "one uploaded file, as it is packed",
    "session_bytes": "the imported files of one session",
    "total_bytes": "the imported files of all sessions",
    "import_bytes": "the weights in one imported file, 4 bytes per cell",
    "tokens": "tokens per side of imported attention or of a handout's figure",
    "picture_session_bytes": "the pictures of one session",
    "picture_total_bytes": "the pictures of all sessions",
    "handout_bytes": "the figures of one handout",
    "handouts_bytes": "the handouts of all visitors",
    "longest_text": "characters of a text that a model reads",
    "longest_wait": "seconds that an answer may take, by its estimate",
    "measure_bytes": "one measurement on the page Cost",
    "cache_bytes": "the answers that are kept",
    "models_bytes": "the models that are kept open",
    "trainings": "trainings at once on one server"}
# units of limits whose names do not end in one
UNITS = {"corpus_line": "bytes", "link_text": "bytes", "link_unpacked": "bytes",
         "picture_growth": "pixels per byte",
         "picture_length": "pixels", "picture_kept": "pixels", "handout_items": "figures", "record_cells": "weights",
         "longest_wait": "seconds", **dict.fromkeys(("corpus_text", "handout_title", "handout_caption", "handout_about",
                                                     "handout_source", "handout_text", "longest_text", "link_length"),
                                                    "characters")}


def setting_of(name: str) -> str:
    """Return the environment variable that sets this limit."""
    return f"CLEARHEAD_{name.upper().removesuffix('_BYTES')}{'_MB' if name.endswith('_bytes') else ''}"


def from_environment(environment: Mapping[str, str]) -> Limits:
    """Return the limits: the defaults, overridden by the environment. Raises UserError for a setting that is not a
    number."""
    values: dict[str, Any] = {}
    for name in SETTINGS:
        if text := environment.get(setting_of(name), "").strip():
            default, scale = getattr(Limits(), name), MB if name.endswith("_bytes") else 1
            try:
                values[name] = type(default)(float(text) * scale)
            except (ValueError, OverflowError):   # includes NaN and infinity
                values[name] = -1
            if values[name] < (name != "trainings"):
                raise UserError(f"{setting_of(name)} is {text[:60]!r} but must be a number above 0; change it or leave "
                                f"it out.")
    return Limits(**values)


LIMITS = from_environment(os.environ)


def as_rows(limits: Limits) -> list[dict[str, object]]:
    """Return one row per setting: its name, what it limits, and its value and default in the setting's unit."""
    return [{"setting": setting_of(name), "of": of,
             **{key: getattr(each, name) / (MB if name.endswith("_bytes") else 1)
                for key, each in (("value", limits), ("default", Limits()))}} for name, of in SETTINGS.items()]


def parse_json(content: bytes, whose: str, made: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Parse JSON. Raises UserError, beginning with `whose`, above the limits on bytes and values, and ValueError for
    invalid or deeply nested JSON. made: returns what takes the place of an object."""
    smaller = "choose a smaller one"
    LIMITS.refuse_above("json_bytes", len(content), whose, smaller)
    LIMITS.refuse_above("json_values", sum(map(content.count, (b"[", b"{", b","))), whose, smaller)
    try:
        return json.loads(content, object_hook=made)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
