"""Shared parts of all command lines: argument types, and errors as one sentence.

Exit codes: 0 done, 2 refused or wrong usage, 1 an internal error; `python -m model verify` adds others.
"""
import errno
import io
import json
import re
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
from model.core.query import UserError

READ = click.Path(exists=True, dir_okay=False, path_type=Path)
WRITE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
LARGEST = 2**63 - 1    # the largest 64-bit integer
MODEL = click.option("--model", "model_id", required=True,
                     help="A catalogue name, a hub id, a folder or a GGUF file.")
JSON = click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")


class _Whole(click.IntRange):
    """A whole number of at most 64 bits, which the help does not print as its bounds."""

    def _describe_range(self) -> str:
        low, high = "" if self.min == -2**63 else f"{self.min}<=", "" if self.max == LARGEST else f"<={self.max}"
        return f"{low}x{high}" if low or high else "64 bits"


def whole(low: int = -2**63, high: int = LARGEST) -> click.IntRange:
    """Return the type of a whole number; nothing beyond 64 bits is taken."""
    return _Whole(low, high)


def refuse_overwriting(out: Path, model_id: str, *read: Path) -> None:
    """Raise UserError if `out` cannot be written, or is one of `read` or of the model's files, under any name or
    link."""
    of_model: tuple[Path, ...] = ()
    with suppress(OSError, ValueError, RuntimeError):   # strings that are not valid paths
        place = Path(model_id).expanduser()
        of_model = tuple(place.iterdir()) if place.is_dir() else (place,)
    files.refuse_overwriting(out, *read, *of_model)


class Refused(click.ClickException):
    """An error that the user can act on, printed as one sentence, after the usage if that was wrong."""

    exit_code = 2

    def __init__(self, sentence: str, usage: str = "") -> None:
        super().__init__(sentence)
        self.usage = usage

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error."""
        lines = [f"{self.usage} (-h explains)"] if self.usage else []
        with suppress(OSError):
            click.echo("\n".join([*lines, f"Error: {in_one_line(self.message)}"]), file, err=True)


class Fault(Refused):
    """An internal error, printed as one sentence that names the location."""

    exit_code = 1


def in_one_line(text: str) -> str:
    """Return text for a terminal: one line without invisible characters."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in " ".join(text.split()))


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Convert any error in a command to Refused."""
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
        if error.errno == errno.EPIPE:   # the reader of the output has closed the pipe
            raise
        raise Refused(f"{error.filename or 'The output'} cannot be read or written ({error.strerror or error}); choose "
                      f"another place.") from error
    except MemoryError as error:
        raise Refused("This machine does not have enough memory; choose a smaller text, file or model.") from error
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise Fault(f"This should not happen ({type(error).__name__}: {error}, {Path(place.filename).name} line "
                    f"{place.lineno}); report it with the command that was given.") from error


class Commands(click.Group):
    """A command group that exits with code 0, or refuses in one sentence."""

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        """Parse as click does, with errors in one sentence."""
        with errors_as_sentences():
            return super().make_context(*given, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does. Raises click.UsageError for arguments that are not text."""
        if any("\0" in word or re.search("[\ud800-\udfff]", word) for word in args):
            raise click.UsageError("An argument holds a zero byte, or bytes that are not UTF-8; leave them out.", ctx)
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does. Raises click.UsageError for repeated options, of which click would take the last."""
        name, command, rest = super().resolve_command(ctx, args)
        given: list[click.Parameter] = []
        if command is not None and not isinstance(command, click.Group):
            with suppress(click.UsageError):   # raised again, with the command's own usage, during parsing
                own = click.Context(command, ctx, name)
                given = command.make_parser(own).parse_args(list(rest))[2]
        for option in given:
            if isinstance(option, click.Option) and not (option.multiple or option.is_flag) and given.count(option) > 1:
                raise click.UsageError(f"{option.opts[0]} is given more than once; give it once.", own)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with errors_as_sentences():
            return super().invoke(ctx)


def run(commands: Commands, name: str) -> None:
    """Run the whole program: `commands` with the arguments after `name`. Files and pipes get UTF-8; on Windows they
    would use a code page that lacks most characters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    commands(prog_name=name)


def kept_picture(path: Path) -> str:
    """Store a picture file in this process and return its sha256. Raises UserError if it is not a picture."""
    LIMITS.refuse_above("picture_bytes", path.stat().st_size, str(path), "make it smaller")
    return pictures.keep(path.read_bytes(), path.name).sha256


def answer_to(question: Hashable) -> Any:
    """Return the answer, showing progress on standard error in a terminal. Raises UserError if there is none."""
    job = sources.ask(question, "command line")
    while not job.wait(0.2):
        tell(f"\r{job.fraction:4.0%} {job.text:<60.60}")
    tell("\r" + " " * 66 + "\r")
    return job.result()


def tell(text: str) -> None:
    """Print text for a person watching; nothing is written if output goes to a file."""
    if sys.stderr.isatty():
        click.echo(text, nl=False, err=True)


def as_json(content: object, indent: int | None = None) -> None:
    """Print JSON."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent))


@click.command("limits")
@JSON
def limits_command(json_wanted: bool) -> None:
    """List the limits that can be set: the variable, its value and what it bounds; _MB means megabytes."""
    rows = as_rows(LIMITS)
    if json_wanted:
        as_json(rows, indent=1)
        return
    for row in rows:
        other = "" if row["value"] == row["default"] else f" (default {row['default']:,.10g})"
        click.echo(f"{row['setting']:<30} {row['value']:>12,.10g}  {row['of']}{other}")
