"""What bounds everything that comes from outside, in one place: checked before memory or time is spent.

Each bound is a field of `LIMITS` and has a setting in the environment, CLEARHEAD_ and its name in capitals, which is
read once, as Python starts. Fields that end in `_bytes` are set in megabytes of 2**20 bytes, and their setting ends in
`_MB`: `import_bytes` is set by CLEARHEAD_IMPORT_MB. `python -m model limits` shows them all.
"""
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from model.core.query import UserError

MB = 2**20
MOST = 2**53   # above it a number is no limit


def _limit(default: float, unit: str, of: str, least: int = 1) -> Any:
    return field(default=default, metadata={"unit": unit, "of": of, "least": least})


@dataclass(frozen=True)
class Limits:
    """The bounds in force; each with its default, its unit and what it bounds."""

    # a file that somebody opens
    file_bytes: int = _limit(200 * MB, "bytes", "one uploaded file, as it is packed")
    session_bytes: int = _limit(512 * MB, "bytes", "the imported files of one session")
    total_bytes: int = _limit(512 * MB, "bytes", "the imported files of all sessions")
    import_bytes: int = _limit(256 * MB, "bytes", "the weights in one imported file, 4 bytes a cell")
    record_cells: int = _limit(1_000_000_000, "weights", "the heads of one saved record, computed when they are drawn")
    text_bytes: int = _limit(16 * MB, "bytes", "one array of strings in an imported file")
    arrays: int = _limit(5_000, "arrays", "one imported file")
    heads: int = _limit(20_000, "heads", "the layers of one imported file or one model together")
    tokens: int = _limit(4_096, "tokens", "a side of imported attention or of a handout's figure")
    json_bytes: int = _limit(64 * MB, "bytes", "one JSON file, or one file of a tokenizer")
    json_values: int = _limit(5_000_000, "values", "one JSON file, as its signs let it have at most")
    depth: int = _limit(64, "levels", "lists and objects within one another in JSON and in headers")
    case_rows: int = _limit(20_000, "rows", "one file of cases")
    corpus_text: int = _limit(20_000, "characters", "one text of a file of texts")
    corpus_line: int = _limit(1_000_000, "bytes", "one line of a file of texts")
    atlas_bytes: int = _limit(512 * MB, "bytes", "one Parquet file of an atlas")
    sentence_words: int = _limit(1_000, "words", "one sentence of a treebank")
    treebank_words: int = _limit(400_000, "words", "one treebank")
    choices_bytes: int = _limit(512 * MB, "bytes", "what the heads look at in one treebank, 2 bytes a head and word")
    # a picture that somebody opens
    picture_bytes: int = _limit(48 * MB, "bytes", "one picture, as it is packed")
    picture_pixels: int = _limit(64_000_000, "pixels", "one picture, as its file states them")
    picture_length: int = _limit(65_535, "pixels", "a side of one picture, as its file states it")
    picture_growth: int = _limit(200, "pixels a byte", "a picture that is larger than what is held of one")
    picture_work_bytes: int = _limit(200 * MB, "bytes", "one picture while it is decoded, by an estimate")
    picture_scans: int = _limit(100, "scans", "one picture that is a JPEG")
    picture_kept: int = _limit(4_194_304, "pixels", "a picture as it is held; a larger one is shrunk")
    picture_side: int = _limit(4_096, "pixels", "a side of the picture that a model gets")
    picture_session_bytes: int = _limit(64 * MB, "bytes", "the pictures of one session")
    picture_total_bytes: int = _limit(256 * MB, "bytes", "the pictures of all sessions")
    # a model from somebody else
    layers: int = _limit(512, "layers", "a model's configuration")
    width: int = _limit(262_144, "numbers", "any other size in a model's configuration: of a vector, of its labels")
    positions: int = _limit(16_777_216, "positions", "a model's configuration")
    vocabulary: int = _limit(4_000_000, "pieces", "a model's vocabulary")
    tensors: int = _limit(500_000, "tensors", "one file of weights")
    header_bytes: int = _limit(25 * MB, "bytes", "the header of one file of weights")
    growth: int = _limit(64, "times its length", "a text, as a tokenizer's rules may make it")
    # a handout
    handout_bytes: int = _limit(24 * MB, "bytes", "the figures of one handout")
    handouts_bytes: int = _limit(256 * MB, "bytes", "the handouts of all visitors")
    handout_items: int = _limit(100, "figures", "one handout")
    handout_title: int = _limit(200, "characters", "a handout's title")
    handout_caption: int = _limit(2_000, "characters", "a figure's caption")
    handout_about: int = _limit(1_000, "characters", "what a figure says of where it comes from")
    handout_source: int = _limit(100_000, "characters", "a figure's provenance")
    handout_text: int = _limit(4_000, "characters", "any other text in a figure")
    handout_parts: int = _limit(64, "parts", "the boxes, handles, or cells a side of a figure")
    chart_bytes: int = _limit(8 * MB, "bytes", "one chart of a handout")
    table_bytes: int = _limit(2 * MB, "bytes", "one table of a handout")
    table_rows: int = _limit(2_000, "rows", "one table of a handout")
    table_columns: int = _limit(40, "columns", "one table of a handout")
    # what somebody types, and a link
    longest_text: int = _limit(1_000_000, "characters", "a text that a model is asked about")
    link_text: int = _limit(1_500, "bytes", "a text that a link holds as it is; a longer one is packed")
    link_unpacked: int = _limit(200_000, "bytes", "a packed text of a link, unpacked")
    link_length: int = _limit(8_000, "characters", "a link")
    # what an answer may take of this machine
    longest_wait: float = _limit(600, "seconds", "an answer, by its estimate")
    measure_bytes: int = _limit(1024 * MB, "bytes", "one measurement on the page What it costs")
    cache_bytes: int = _limit(1024 * MB, "bytes", "the answers that are kept")
    models_bytes: int = _limit(6144 * MB, "bytes", "the models that are kept open")
    trainings: int = _limit(2, "trainings", "at once on one server", least=0)

    def refuse_above(self, name: str, amount: float, whose: str, way_out: str) -> None:
        """Raises UserError where `amount` is above the limit of this name. `whose`: the file or thing that has so much;
        `way_out`: what can be done about it, beside another setting."""
        most = getattr(self, name)
        if amount > most:
            unit = _FIELDS[name].metadata["unit"]
            has, limit = _written(amount, unit), _written(most, unit)
            ending = f" {unit}" if has.endswith(unit) else ""   # the unit stands there once
            raise UserError(f"{whose} has {has} and the limit is {limit.removesuffix(ending)}; {way_out}, or set "
                            f"{setting_of(name)} higher.")


_FIELDS: dict[str, Field[Any]] = {each.name: each for each in fields(Limits)}


def setting_of(name: str) -> str:
    """The variable of the environment that sets the limit of this name."""
    return f"CLEARHEAD_{name.upper().removesuffix('_BYTES')}{'_MB' if name.endswith('_bytes') else ''}"


def _written(amount: float, unit: str) -> str:
    if amount > MOST:
        return f"more than {MOST:,} {unit}"
    if unit == "bytes" and amount >= MB:
        amount, unit = math.ceil(100 * amount / MB) / 100, "MB"
    return f"{amount:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def from_environment(environment: Mapping[str, str]) -> Limits:
    """The defaults, and what the environment sets otherwise. Raises UserError for a setting that is no number."""
    values: dict[str, float] = {}
    for name, limit in _FIELDS.items():
        if text := environment.get(setting_of(name), "").strip():
            values[name] = _number(setting_of(name), text, limit, MB if name.endswith("_bytes") else 1)
    return Limits(**values)   # type: ignore[arg-type]


def _number(setting: str, text: str, limit: Field[Any], scale: int) -> float:
    fraction = scale > 1 or limit.metadata["unit"] == "seconds"
    least = limit.metadata["least"]
    try:
        number = float(text) * scale
        value = round(number) if scale > 1 else number if fraction else int(number)
        if least <= value <= MOST and (fraction or value == number):
            return value
    except (ValueError, OverflowError):
        pass   # NaN and infinity among them
    wanted = ("number of megabytes above 0" if scale > 1 else
              f"{'' if fraction else 'whole '}number of {limit.metadata['unit']} from {least} up")
    raise UserError(f"{setting} is {text[:60]!r} and must be a {wanted}; change it or leave it out.")


def as_rows(limits: Limits) -> list[dict[str, Any]]:
    """A row for each limit: name, value, unit, setting, default and what it bounds; values in the setting's unit."""
    rows = []
    for name, limit in _FIELDS.items():
        in_mb = name.endswith("_bytes")
        value, default = (_plain(getattr(each, name) / (MB if in_mb else 1)) for each in (limits, Limits()))
        rows.append({"name": name, "value": value, "unit": "MB" if in_mb else limit.metadata["unit"],
                     "setting": setting_of(name), "default": default, "of": limit.metadata["of"]})
    return rows


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _of_this_process() -> Limits:
    """The limits in force. Without them nothing may start, so a bad setting ends the process with its sentence."""
    try:
        return from_environment(os.environ)
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from error


LIMITS = _of_this_process()


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
