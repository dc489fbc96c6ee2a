"""clearhead atlas: measure every head over a corpus, in one process, in several or on Ray. Builds can resume."""
import datetime
import platform
import shlex
import sys
import time
import tomllib
from contextlib import closing
from pathlib import Path

import click

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.cli.commands import FOLDER, JSON, KIND, LIMIT, MODEL, READ, Commands, as_json, tell
from clearhead.model.core.files import ASSETS, make_folder, refuse_overwriting
from clearhead.model.core.query import Kind, UserError, need, quiet
from clearhead.model.core.record import unread
from clearhead.model.studies.atlas import files
from clearhead.model.studies.atlas.build import Corpus, ShardTask, ShardWorker, folded, made_of
from clearhead.model.studies.atlas.summary import Summary, atlas_of
from clearhead.model.studies.atlas.workers import ENGINES, summaries
from clearhead.model.studies.corpus import FIELD


def open_worker(task: ShardTask) -> ShardWorker:
    """Open the model and return a worker for this process or machine. Raises UserError if its model or software differs
    from those of the machine that builds the atlas."""
    task.check(sources.revision(task.model))
    return ShardWorker(task, desk.models.open(task, quiet))


@click.group("atlas", cls=Commands)
def atlas_command() -> None:
    """Measure every head over a corpus and store the results as Parquet files."""


@atlas_command.command("build")
@click.argument("corpus", type=READ, nargs=-1, required=True)
@MODEL
@click.option("--out", type=FOLDER, required=True, help="Folder for the atlas.")
@click.option("--on", type=click.Choice(ENGINES), default="here", show_default=True,
              help="Run in this process, in several processes, or on Ray.")
@click.option("--ray", "address", help="Address of a running Ray cluster; default: start one on this machine.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Number of workers; default: one per core.")
@LIMIT
@click.option("--column", "--field", "field", default=FIELD, show_default=True,
              help="The column or JSONL field that holds the texts.")
@KIND
def build_command(corpus: tuple[Path, ...], model_id: str, out: Path, on: str, address: str | None,
                  workers: int | None, limit: int | None, field: str, kind: str | None) -> None:
    """Measure every head over a corpus: means, deciles, detectors, sinks, examples, and grammar if annotated.

    CORPUS are files in UTF-8 of any length: .txt (one text per line), .csv, .jsonl, .parquet or .conllu. After Ctrl-C
    or a crash, the same command resumes. The Parquet files are identical bit for bit for any engine and number of
    workers. Each worker holds the model.

    \b
    clearhead atlas build reviews.txt --model minilm --out atlas
    clearhead atlas build news.jsonl --model smollm2 --out atlas --on processes --workers 4
    """
    need("pyarrow", "psutil")
    import psutil

    if address and on != "ray":
        raise click.UsageError("--ray is the address of a cluster; add --on ray.")
    task = ShardTask(model_id, sources.revision(model_id), Kind(kind) if kind else None)
    texts = Corpus(corpus, field, limit)
    make_folder(out)
    for name in (*files.TABLES, *files.MORE):
        refuse_overwriting(out / f"{name}.parquet", *corpus)
    said, begin, part = made_of(task, texts), time.perf_counter(), out / files.PART
    with files.alone(out):
        if _is_there(out, said):
            part.unlink(missing_ok=True)   # left if the last run was killed at its end
            click.echo(f"{out} already holds this atlas")
            return
        earlier = files.load(part, said)
        resumed = earlier.averages.texts if earlier else 0

        def progress(total: Summary) -> None:
            done = total.averages.texts
            speed = (done - resumed) / max(time.perf_counter() - begin, 1e-9)
            tell(f"\r{done:,} texts, {speed:.1f} per second ")

        count = 1 if on == "here" else workers or psutil.cpu_count(logical=False) or 1
        with closing(summaries(texts.shards(resumed), open_worker, task, on, count, address)) as found:
            summary = folded(found, earlier, lambda total: files.save(part, said, total), progress)
        files.write_atlas(out, atlas_of(summary, said), {
            "command": shlex.join(["clearhead", *sys.argv[1:]]), "engine": on, "workers": count,
            "address": address, "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - begin, 2), "texts_of_earlier_runs": resumed,
            "machine": platform.platform()})
        part.unlink(missing_ok=True)
    averages = summary.averages
    click.echo(f"{out}: {len(summary.heads)} heads over {averages.texts:,} texts of {averages.tokens:,} tokens; "
               f"{resumed:,} read in an earlier run, {averages.cut:,} cut to the model's length")
    if missed := unread(summary.title, averages.unread, averages.texts, "texts"):
        click.echo(missed, err=True)


def _is_there(out: Path, said: dict[str, object]) -> bool:
    """Return whether the folder already contains exactly this atlas, complete. Raises UserError if it contains another
    atlas."""
    earlier = files.about_atlas(out)
    if earlier is None:
        return False
    asked = {name: said[name] for name in files.IDENTITY if name in said}
    asked |= {"kind": said["asked_kind"]} if said["asked_kind"] else {}
    if any(earlier[name] != value for name, value in asked.items()):
        raise UserError(f"{out} already holds an atlas of {earlier['model']} over another corpus or with other "
                        f"options; choose another --out.")
    return (out / files.RUN).is_file()


@atlas_command.command("csv")
@click.argument("folder", type=FOLDER)
@click.option("--out", type=FOLDER, help="Folder for the CSV files; default: FOLDER/csv.")
def csv_command(folder: Path, out: Path | None) -> None:
    """Export an atlas's tables as CSV files, for programs that cannot read Parquet."""
    atlas, out = files.open_atlas(folder), out or folder / "csv"
    make_folder(out)
    places = files.write_csv(atlas, out)
    click.echo(f"{len(places)} files written to {places[0].parent}")


@atlas_command.command("columns")
@JSON
def columns_command(json_wanted: bool) -> None:
    """Describe every column of an atlas's files, file by file."""
    said = tomllib.loads((ASSETS / "text" / "en" / "atlas_columns.toml").read_text(encoding="utf-8"))
    if json_wanted:
        as_json(said, indent=1)
        return
    for table, columns in said.items():
        click.echo(f"{table}.parquet")
        for name, meaning in columns.items():
            click.echo(f"  {name:<11} {meaning}")
