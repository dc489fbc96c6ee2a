"""python -m model measures: every head over a file of texts, resumable."""
import hashlib
import json
import sys
import time
from itertools import islice
from pathlib import Path

import click

from model.ask import sources
from model.cli.commands import FilePath, answer_to, refuse_overwriting
from model.core import files
from model.core.query import Kind, UserError
from model.studies.corpus import BATCH, FIELD, Averages, TextsQuery, as_csv, as_object, from_object, merge, texts

SAVED_EVERY = 5   # seconds: what a stop costs at most


@click.command("measures")
@click.argument("file", type=FilePath("read"))
@click.option("--model", "model_id", default="minilm", show_default=True,
              help="A name of the catalogue, a hub id, a folder, or a GGUF file.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]),
              help="Which attention; the model's first one unless given.")
@click.option("--column", "--field", "field", default=FIELD, show_default=True,
              help="The CSV's column, or the JSONL's field, with the texts; unless there is one of this name, the only "
                   "one with texts.")
@click.option("--out", type=FilePath("write"),
              help="The CSV to write; FILE-measures.csv beside FILE unless given.")
def measures_command(file: Path, model_id: str, kind: str | None, field: str, out: Path | None) -> None:
    """What every head does over a file of texts: means and standard deviations, one row a head, as CSV.

    FILE is .txt (one text per line), .csv or .jsonl, in UTF-8, of any length: one text at a time is in memory. Stopped
    with Ctrl-C it goes on from there the next time; what is done so far is kept beside the output, as OUT.part.

    \b
    python -m model measures reviews.txt
    python -m model measures reviews.csv --column review --model smollm2 --out smollm2.csv
    """
    out = out or file.with_name(f"{file.stem}-measures.csv")
    part = out.with_name(out.name + ".part")
    for place in (out, part):
        refuse_overwriting(place, model_id, file)
    try:
        named = {"model": model_id, "revision": sources.revision(model_id), "asked_kind": kind, "field": field,
                 "file": file.name,
                 "sha256": _sha256(file)}
        earlier = _resumed(part, named)
        averages = _averages(file, named, part, earlier)
        files.write(out,
                    as_csv(averages,
                           {name: value for name, value in named.items() if name != "asked_kind"}).encode("utf-8"))
        part.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{error.filename or file} cannot be read ({error.strerror or error}); choose another "
                        f"file.") from error
    resumed = f"; {earlier.texts:,} of them were read in an earlier run" if earlier else ""
    short = f"; {averages.cut:,} of them were longer than the model reads, and cut" if averages.cut else ""
    click.echo(f"{out}: {len(averages.heads)} heads over {averages.texts:,} texts of {averages.tokens:,} tokens"
               f"{resumed}{short}")


def _averages(file: Path, named: dict, part: Path, earlier: Averages | None) -> Averages:
    """All texts of the file, from where an earlier run was stopped."""
    total, saved, kind = earlier, time.perf_counter(), named["asked_kind"]
    done = total.texts if total else 0
    with file.open("rb") as opened:
        left = islice(texts(opened, file.name, named["field"]), done, None)
        while batch := tuple(islice(left, BATCH)):
            try:
                batch_averages = answer_to(TextsQuery(named["model"], named["revision"], kind and Kind(kind), batch))
            except UserError as error:
                raise UserError(f"{file.name}, {error}") from error
            except KeyboardInterrupt:
                _save(part, named, total)
                raise
            total = batch_averages if total is None else _merged(total, batch_averages, part)
            _say(total.texts, batch[-1][0])
            if time.perf_counter() - saved > SAVED_EVERY:
                _save(part, named, total)
                saved = time.perf_counter()
    if total is None:
        raise UserError(f"{file.name} has no text in it; write one text a line.")
    return total


def _save(part: Path, named: dict, total: Averages | None) -> None:
    if total is not None:
        files.write(part, json.dumps(named | {"found": as_object(total)}).encode("utf-8"))


def _say(count: int, line: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{count:,} texts, up to line {line:,} ", nl=False, err=True)


def _resumed(part: Path, named: dict) -> Averages | None:
    """What an earlier run had found of this very file with this very model; None if there is nothing of the kind."""
    try:
        saved = json.loads(part.read_text(encoding="utf-8"))
        return from_object(saved["found"]) if {name: saved[name] for name in named} == named else None
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _not_ours(part) from error


def _merged(total: Averages, batch: Averages, part: Path) -> Averages:
    """Both together. Raises UserError where an earlier run, of which `part` is left, had other heads or measures."""
    try:
        return merge(total, batch)
    except ValueError as error:
        raise _not_ours(part) from error


def _not_ours(part: Path) -> UserError:
    return UserError(f"{part} is not what an earlier run left there; delete it, or choose another --out.")


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
