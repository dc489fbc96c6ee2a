"""Shared parts of all command lines: argument types and one-sentence errors.

Exit codes: 0 success, 1 internal error, 2 user error or wrong usage. `clearhead verify` adds others.
"""
import errno
import io
import json
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from clearhead.model.ask import desk
from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS, as_rows
from clearhead.model.core.models import A, Question
from clearhead.model.core.query import ISOLATES, Kind, Query, UserError
from clearhead.model.core.record_file import plain

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN = 10   # number of rows of a table
READ = click.Path(exists=True, dir_okay=False, path_type=Path)
WRITE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
MODEL = click.option("--model", "model_id", required=True,
                     help="A catalogue name, a hub id, a folder or a GGUF file.")
KIND = click.option("--kind", type=click.Choice([kind.value for kind in Kind]),
                    help="self, causal or cross; default: the model's first.")
LIMIT = click.option("--limit", type=click.IntRange(1, 10**9), help="Read only the first N texts.")
JSON = click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")


class Refused(click.ClickException):
    """An error that the user can fix, printed as one sentence, after the usage line if the usage was wrong."""

    exit_code = 2

    def __init__(self, sentence: str, usage: str = "") -> None:
        super().__init__(sentence)
        self.usage = usage

    def show(self, file: IO[str] | None = None) -> None:
        """Print the error to standard error."""
        lines = [f"{self.usage} (-h explains)"] if self.usage else []
        with suppress(OSError):
            click.echo("\n".join([*lines, f"Error: {in_one_line(self.message)}"]), file, err=True)


class Fault(Refused):
    """An internal error, printed as one sentence that names the location."""

    exit_code = 1


def in_one_line(text: str) -> str:
    """Join the lines of a text for a terminal, and replace invisible characters by their code points."""
    return "".join(sign if sign.isprintable() or sign in ISOLATES else f"U+{ord(sign):04X}"
                   for sign in " ".join(text.split()))


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
        if error.errno == errno.EPIPE:   # the reading program closed the pipe
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
    """A click group whose errors are one sentence long."""

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        """Like click.Group, but errors are one sentence long."""
        with errors_as_sentences():
            return super().make_context(*given, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click.Group, but without arguments it prints the help. Raises click.UsageError for arguments that are
        not valid text."""
        if any("\0" in word or re.search("[\ud800-\udfff]", word) for word in args):
            raise click.UsageError("An argument holds a zero byte, or bytes that are not UTF-8; leave them out.", ctx)
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click.Group, but an option that holds one value may be given only once, where click takes the last."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            inner = click.Context(command, ctx, name, **command.context_settings)
            given: list[click.Parameter] = []
            with suppress(click.UsageError):   # the command itself will raise it
                given = command.make_parser(inner).parse_args(list(rest))[2]
            for each in given:
                if isinstance(each, click.Option) and not each.is_flag and not each.multiple and given.count(each) > 1:
                    raise click.UsageError(f"{each.opts[0]} is given {given.count(each)} times; give it once.", inner)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; errors are one sentence long."""
        with errors_as_sentences():
            return super().invoke(ctx)


def run(commands: Commands, name: str) -> None:
    """Run the program with its command-line arguments. Output to files and pipes is UTF-8; the default on Windows is a
    code page that lacks most characters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    commands(prog_name=name)


def kept_picture(path: Path) -> str:
    """Store a picture file in this process and return its sha256. Raises UserError if it is not a picture."""
    return pictures.keep(path.read_bytes(), path.name).sha256


def answer_to(question: Question[A]) -> A:
    """Wait for the answer and return it, with progress on standard error if that is a terminal. Raises UserError if
    there is no answer."""
    job = desk.ask(question, "command line")
    while not job.wait(0.2):
        tell(f"\r{job.fraction:4.0%} {job.text:<60.60}")
    tell("\r" + " " * 66 + "\r")
    try:
        return job.result()
    except UserError as error:
        raise error.with_traceback(None) from None   # hides the queue's traceback


def tell(text: str) -> None:
    """Print a message for a person at a terminal. Prints nothing if the output goes to a file."""
    if sys.stderr.isatty():
        click.echo(text, nl=False, err=True)


def as_json(content: object, indent: int | None = None) -> None:
    """Print an object as JSON; see `model.core.record_file.plain`."""
    click.echo(json.dumps(plain(content), ensure_ascii=False, allow_nan=False, indent=indent))


def echo_table(table: "DataFrame", rows: int | None = SHOWN) -> None:
    """Print the first rows of a table, or all of them."""
    click.echo(table.head(len(table) if rows is None else rows).round(4).to_string(index=False))


def tell_unread(*queries: Query) -> None:
    """Print on standard error what a model cannot read of these texts."""
    for said in dict.fromkeys(answer_to(query).unread for query in queries):
        if said:
            click.echo(said, err=True)


def show(answer: object, table: "DataFrame", content: object, rows: int | None = SHOWN) -> None:
    """Print `content` as JSON if there is any, else the answer in one line and its table."""
    if content:
        as_json(content)
    else:
        click.echo(repr(answer).strip("<>"))
        echo_table(table, rows)


@click.command("limits")
@JSON
def limits_command(json_wanted: bool) -> None:
    """List the limits that can be set: the variable, its value and what it bounds; _MB means megabytes."""
    rows = as_rows(LIMITS)
    if json_wanted:
        as_json(rows, indent=1)
    for row in () if json_wanted else rows:
        other = "" if row["value"] == row["default"] else f" (default {row['default']:,.10g})"
        click.echo(f"{row['setting']:<30} {row['value']:>12,.10g}  {row['of']}{other}")
