"""What every command line of the project shares: what an argument may be, and refusals as one sentence.

Exit codes: 0 done, 2 refused or wrong usage, 1 a fault of our own; `python -m model verify` has more of its own.
"""
import errno
import io
import json
import os
import re
import stat
import sys
import traceback
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click

from model.ask import sources
from model.core import files, pictures
from model.core.limits import LIMITS, as_rows
from model.core.query import UserError, quoted


def refuse_overwriting(out: Path, model_id: str, *read: Path) -> None:
    """Raises click.UsageError where the file to be written is one of `read` or of the model's, by whatever name or
    link."""
    try:
        files.refuse_overwriting(out, *read, *_files_of(model_id))
    except UserError as error:
        raise click.UsageError(str(error)) from error


def _files_of(model_id: str) -> tuple[Path, ...]:
    """The GGUF file that the id names, or the files of its folder; nothing for a name of the catalogue or of a hub."""
    with suppress(OSError, ValueError, RuntimeError):   # what no system takes as a path
        path = Path(model_id).expanduser()
        return tuple(path.iterdir()) if path.is_dir() else (path,)
    return ()


LARGEST = 2**63 - 1    # of any number: what 64 bits hold
DEEPEST = 200          # folders in one another
LONGEST_WORD = 300     # characters of a sentence without a space; longer ones are quoted by their ends


def whole(low: int = -2**63, high: int = LARGEST) -> click.IntRange:
    """The type of a whole number; nothing beyond 64 bits is taken."""
    return click.IntRange(low, high)


class FilePath(click.ParamType):
    """A file to read, a file to write or a folder to write into, refused before anything is computed for it. A device
    is neither read, as it may have no end, nor written, as a new file would take its place."""

    name = "path"

    def __init__(self, use: str) -> None:
        """use: read, write or folder."""
        self.use = use

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path. Fails, with the way out, for one that cannot be used so."""
        path = Path(value)
        try:
            names_one = str(value).strip() and len(path.parts) <= DEEPEST
            problem = self._problem(path) if names_one else f"{quoted(str(value))} names no place; choose another."
        except (OSError, ValueError) as error:   # too long, a circle of links, a folder that one may not look into
            reason = getattr(error, "strerror", None) or error
            problem = f"{quoted(str(value))} cannot be reached ({reason}); choose another place."
        if problem:
            self.fail(problem, param, ctx)
        return path

    def _problem(self, path: Path) -> str:
        mode = path.stat().st_mode if path.exists() else None
        if self.use == "read":
            if mode is None:
                return f"There is no file {path}; choose one that is there."
            is_file = stat.S_ISREG(mode) or stat.S_ISFIFO(mode)
            readable = is_file and os.access(path, os.R_OK)
            return "" if readable else f"{path} is no file that can be read; choose another."
        wanted, place = ("folder", path) if self.use == "folder" else ("file", path.parent)
        if mode is not None and not (stat.S_ISDIR(mode) if self.use == "folder" else stat.S_ISREG(mode)):
            return f"{path} is there and no {wanted}; choose another place."
        if self.use == "folder":
            place = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        if not place.is_dir():
            return f"There is no folder {place}; make it, or choose another place."
        return "" if os.access(place, os.W_OK) else f"{place} may not be written to; choose another place."


class Refused(click.ClickException):
    """What a person can do something about, as it is printed: the usage, if it is that, and one sentence."""

    exit_code = 2

    def __init__(self, sentence: str, usage: str = "") -> None:
        super().__init__(sentence)
        self.usage = usage

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints it to standard error."""
        lines = [f"{self.usage} (-h explains)"] if self.usage else []
        with suppress(OSError):
            click.echo("\n".join([*lines, f"Error: {in_one_line(self.message)}"]), file, err=True)


class Fault(Refused):
    """What should not happen, said in a sentence that names the place."""

    exit_code = 1


def in_one_line(text: str) -> str:
    """Text for a terminal: one line, nothing that cannot be seen, and nothing quoted that fills a screen."""
    words = "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in " ".join(text.split())).split(" ")
    return " ".join(word if len(word) <= LONGEST_WORD else f"{word[:60]}…{word[-20:]}" for word in words)


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Round what a command does: whatever goes wrong is raised as Refused."""
    try:
        yield
    except (Refused, click.exceptions.Exit, click.Abort):
        raise
    except click.UsageError as error:
        usage = error.ctx.get_usage() if error.ctx else ""
        raise Refused(error.format_message(), usage=" ".join(usage.split())) from error
    except UserError as error:
        raise Refused(str(error)) from error
    except OSError as error:
        if error.errno == errno.EPIPE:   # whoever read the output has enough of it
            raise
        raise Refused(f"{error.filename or 'The output'} cannot be read or written ({error.strerror or error}); choose "
                      f"another place.") from error
    except MemoryError as error:
        raise Refused("This machine's memory is not enough for that; take a smaller text, file or model.") from error
    except Exception as error:
        raise _fault(error) from error


def _fault(error: Exception) -> Fault:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return Fault(f"This should not happen ({type(error).__name__}: {error}, {Path(place.filename).name} line "
                 f"{place.lineno}); report it with the command that was given.")


class Commands(click.Group):
    """A group whose commands end with exit code 0, or refuse with one sentence."""

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        """As click does; what is wrong with the arguments is one sentence."""
        with errors_as_sentences():
            return super().make_context(*given, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, for arguments that are text. Raises click.UsageError for others."""
        if any("\0" in word or re.search("[\ud800-\udfff]", word) for word in args):
            raise click.UsageError("An argument holds a zero byte, or bytes that are not UTF-8; leave them out.", ctx)
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does. Raises click.UsageError for an option that takes one value and is given twice, of which click
        would keep the last."""
        name, command, rest = super().resolve_command(ctx, args)
        given: list[click.Parameter] = []
        if command is not None:
            with suppress(click.UsageError):   # the command says so itself
                given = command.make_parser(ctx).parse_args(list(rest))[2]
        for option in given:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and given.count(option) > 1:
                raise click.UsageError(f"{option.opts[0]} is given {given.count(option)} times and takes one value; "
                                       f"run the command once for each.", ctx)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        with errors_as_sentences():
            return super().invoke(ctx)


def run(commands: Commands, name: str) -> None:
    """The whole program: `commands` with what was typed behind `name`. Output that finds no room is given up, so that
    Python does not try once more, with a traceback, as it ends."""
    use_utf8_output()
    try:
        commands(prog_name=name)
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):   # None: closed before the start
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def kept_picture(path: Path) -> str:
    """The sha256 of a picture file, which is held for this process from now on. Raises UserError for what is no
    picture."""
    LIMITS.refuse_above("picture_bytes", path.stat().st_size, str(path), "make it smaller")
    return pictures.keep(path.read_bytes(), path.name).sha256


def use_utf8_output() -> None:
    """Standard output and error in UTF-8 where they are files or pipes: Windows gives those a code page that lacks most
    characters. What no encoding has, such as half a surrogate pair, is written as its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def answer_to(question: Hashable) -> Any:
    """The answer, with progress on standard error where a person sees it. Raises UserError if there is none."""
    job, seen = sources.ask(question, "command line"), sys.stderr.isatty()
    while not job.wait(0.2):
        if seen:
            click.echo(f"\r{job.fraction:4.0%} {job.text:<60.60}", nl=False, err=True)
    if seen:
        click.echo("\r" + " " * 66 + "\r", nl=False, err=True)
    return job.result()


@click.command("limits")
@click.option("--json", "as_json", is_flag=True, help="One JSON list, for scripts.")
def limits_command(as_json: bool) -> None:
    """The limits in force: name, value, unit, the variable that sets it, its default, and what it bounds."""
    rows = as_rows(LIMITS)
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        other = "" if row["value"] == row["default"] else f" (default {row['default']:,})"
        click.echo(f"{row['name']:<16} {row['value']:>12,} {row['unit']:<11} {row['setting']:<26} {row['of']}{other}")
