"""python -m model atlas: every head over a corpus, here, in processes or on Ray; resumable."""
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psutil

from model.ask import sources
from model.ask.shard_worker import open_worker, worker_bytes
from model.cli.commands import Commands, FilePath, refuse_overwriting, whole
from model.core import memory
from model.core.query import Kind, UserError
from model.studies.atlas import engines, files
from model.studies.atlas.build import atlas_of, folded, made_of
from model.studies.atlas.corpora import Corpus
from model.studies.atlas.numbers import COLUMNS
from model.studies.atlas.summary import Summary
from model.studies.atlas.worker import Task
from model.studies.corpus import FIELD

MOST_WORKERS = 1024


@click.group("atlas", cls=Commands)
def atlas_command() -> None:
    """What every head does over a corpus, kept as Parquet files."""


@atlas_command.command("build")
@click.argument("corpus", type=FilePath("read"), nargs=-1, required=True)
@click.option("--model", "model_id", required=True, help="A name of the catalogue, a hub id, a folder, or a GGUF file.")
@click.option("--out", type=FilePath("folder"), required=True, help="Folder for the atlas.")
@click.option("--on", type=click.Choice(engines.ENGINES), default="here", show_default=True,
              help="This process, processes of this machine, or Ray.")
@click.option("--ray", "address", help="Address of a running Ray cluster; without it one on this machine.")
@click.option("--workers", type=whole(1, MOST_WORKERS), help="Workers; one for each core unless given.")
@click.option("--limit", type=whole(1), help="Takes only so many texts, from the beginning.")
@click.option("--column", "--field", "field", default=FIELD, show_default=True,
              help="The column, or the JSONL's field, with the texts.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]),
              help="Which attention; the model's first one unless given.")
def build_command(corpus: tuple[Path, ...], model_id: str, out: Path, **options: Any) -> None:
    """Measures every head over a corpus: means, deciles, detectors, sinks, examples, and grammar where it is annotated.

    CORPUS are files in UTF-8 of any length: .txt (one text per line), .csv, .jsonl, .parquet or .conllu. Stopped with
    Ctrl-C, or killed, the same command goes on from there. Engine and number of workers do not change a byte of the
    Parquet files.

    \b
    python -m model atlas build reviews.txt --model minilm --out atlas
    python -m model atlas build news.jsonl --model smollm2 --out atlas --on processes --workers 4
    """
    if options["address"] and options["on"] != "ray":
        raise click.UsageError("--ray is the address of a cluster; say --on ray with it.")
    kind = options["kind"] and Kind(options["kind"])
    task = Task(model_id, sources.revision(model_id), kind)
    texts = Corpus(corpus, options["field"], options["limit"])
    for name in (*files.TABLES, *files.MORE):
        refuse_overwriting(out / f"{name}.parquet", model_id, *corpus)
    said = made_of(task, texts, kind)
    with files.alone(_made(out)):
        _build(Run(task, texts, out, said, options["on"], options["workers"], options["address"]), corpus, options)


def _build(run: "Run", corpus: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Writes the atlas, unless it is there."""
    out, model_id = run.out, run.task.model
    if _is_there(out, run.said):
        (out / files.PART).unlink(missing_ok=True)   # where the last run was killed as it ended
        click.echo(f"{out} holds this very atlas already")
        return
    summary = run.compute()
    atlas = atlas_of(summary, run.said)
    command = ["python", "-m", "model", "atlas", "build", *map(str, corpus), "--model", model_id, "--out", str(out)]
    more = [word for name, value in options.items() if value is not None
            for word in (f"--{'ray' if name == 'address' else name}", str(value))]
    files.write_atlas(out, atlas, {"command": as_typed(command + more)} | run.account(summary))
    (out / files.PART).unlink(missing_ok=True)
    click.echo(f"{out}: {len(summary.heads)} heads over {summary.averages.texts:,} texts of "
               f"{summary.averages.tokens:,} tokens{run.remarks(summary)}")


def as_typed(words: list[str]) -> str:
    """A command as it is typed in the shell of this system."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


@atlas_command.command("csv")
@click.argument("folder", type=FilePath("folder"))
@click.option("--out", type=FilePath("folder"), help="Folder for the CSV files; FOLDER/csv unless given.")
def csv_command(folder: Path, out: Path | None) -> None:
    """Writes an atlas' tables as CSV files too, for whatever reads no Parquet."""
    places = files.write_csv(files.open_atlas(folder), _made(out or folder / "csv"))
    click.echo(f"{len(places)} files are in {places[0].parent}")


@atlas_command.command("columns")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: {table: {column: what it means}}.")
def columns_command(as_json: bool) -> None:
    """What every column of an atlas' files means, file by file."""
    if as_json:
        click.echo(json.dumps(COLUMNS, indent=1))
        return
    for table, columns in COLUMNS.items():
        click.echo(f"{table}.parquet")
        for name, meaning in columns.items():
            click.echo(f"  {name:<11} {meaning}")


def _tell(sentence: str) -> None:
    """Shows what a person watches; into a file goes a refusal alone, as one sentence."""
    if sys.stderr.isatty():
        click.echo(sentence, err=True)


def _made(folder: Path) -> Path:
    from model.core.files import make_folder

    make_folder(folder)
    return folder


def _is_there(out: Path, said: dict[str, Any]) -> bool:
    """Whether the folder holds this very atlas, finished. Raises UserError where it holds another."""
    earlier = files.about_atlas(out)
    if earlier is None:
        return False
    asked = {name: said[name] for name in files.IDENTITY if name in said}
    asked |= {"kind": said["asked_kind"]} if said["asked_kind"] else {}
    if any(earlier[name] != value for name, value in asked.items()):
        raise UserError(f"{out} holds the atlas of {earlier['model']} over another corpus, or with other options; "
                        f"choose another --out.")
    return (out / files.RUN).is_file()


@dataclass
class Run:
    """One build: what it computes, where, and what it says of itself."""

    task: Task                  # of every worker
    corpus: Corpus              # the texts
    out: Path                   # the atlas' folder
    said: dict[str, Any]        # what the atlas is made of
    engine: str                 # of ENGINES
    workers: int | None         # asked for
    address: str | None         # of a Ray cluster
    resumed: int = 0            # texts of an earlier run
    repeated: int = 0           # shards that a worker's end cost
    begin: float = field(default_factory=time.perf_counter)

    def compute(self) -> Summary:
        """The summary of the whole corpus. Raises UserError where there is none."""
        part = self.out / files.PART
        earlier = files.load(part, self.said)
        self.resumed = earlier.averages.texts if earlier else 0
        self._state_memory()
        with closing(self._summaries()) as summaries:
            try:
                total = folded(summaries, earlier, lambda found: files.save(part, self.said, found), self._progress)
            except KeyboardInterrupt:
                click.echo("\nStopped; the same command goes on from there.", err=True)
                raise
            except OSError as error:
                raise UserError(f"{error.filename or 'The corpus'} cannot be read ({error.strerror or error}); choose "
                                f"another file.") from error
        if total is None:
            raise UserError("The corpus has no text in it; give a file with texts.")
        return total

    def _summaries(self) -> Generator[Summary, None, None]:
        shards = self.corpus.shards(self.resumed)
        if self.engine == "processes":
            from model.studies.atlas.processes import processes

            yield from engines.crewed(shards, processes(open_worker, self.task, self._count(), self._note))
        elif self.engine == "ray":
            from model.studies.atlas.on_ray import on_ray

            workers = self.workers if self.address else self._count()
            yield from engines.crewed(shards, on_ray(open_worker, self.task, workers, self._note, self.address))
        else:
            yield from engines.here(shards, open_worker, self.task)

    def _count(self) -> int:
        return 1 if self.engine == "here" else self.workers or psutil.cpu_count(logical=False) or os.cpu_count() or 1

    def _state_memory(self) -> None:
        """Tells whoever watches how much memory the workers take. Raises UserError where this machine has too little
        for its own."""
        each, free = worker_bytes(self.task.model), memory.memory_free()
        if self.address:
            _tell(f"Each worker takes about {each / 1e9:.1f} GB on its machine.")
            return
        count = self._count()
        _tell(f"{count} worker{'s' * (count > 1)} of about {each / 1e9:.1f} GB each; {free / 1e9:.1f} GB of memory "
              f"are free.")
        if count > 1 and count * each > free:
            raise UserError(f"{count} workers would take about {count * each / 1e9:.1f} GB and {free / 1e9:.1f} GB are "
                            f"free; take at most {max(1, int(free // each))} with --workers.")

    def _note(self, sentence: str) -> None:
        self.repeated += 1
        click.echo(f"\n{sentence}", err=True)

    def _progress(self, total: Summary) -> None:
        if sys.stderr.isatty():
            texts = total.averages.texts
            speed = (texts - self.resumed) / max(time.perf_counter() - self.begin, 1e-9)
            click.echo(f"\r{texts:,} texts, {speed:.1f} a second ", nl=False, err=True)

    def account(self, summary: Summary) -> dict[str, Any]:
        """What run.json says beside the command: what the numbers do not depend on."""
        seconds = time.perf_counter() - self.begin
        computed = summary.averages.texts - self.resumed
        return {"engine": self.engine, "workers": self._count(), "address": self.address,
                "ended": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "seconds": round(seconds, 2), "texts_in_this_run": computed,
                "texts_a_second": round(computed / seconds, 2), "texts_of_earlier_runs": self.resumed,
                "shards_computed_again": self.repeated,
                "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}}

    def remarks(self, summary: Summary) -> str:
        """What a person should know of the run, behind its result."""
        cut = summary.averages.cut
        parts = [f"; {self.resumed:,} of them were read in an earlier run" if self.resumed else "",
                 f"; {cut:,} of them were longer than the model reads, and cut" if cut else "",
                 f"; {self.repeated} shards were computed again, as their workers ended" if self.repeated else ""]
        return "".join(parts)
