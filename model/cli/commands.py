"""Shared parts of all command lines: argument types, errors and output.

Exit codes: 0 success, 1 internal error, 2 user error or wrong usage. `clearhead verify` adds others.
"""
import errno
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearhead.model.ask import desk
from clearhead.model.core import pictures
from clearhead.model.core.limits import LIMITS, as_rows
from clearhead.model.core.models import A, Question
from clearhead.model.core.query import Kind, Query, UserError
from clearhead.model.core.record_file import plain
from clearhead.model.studies.predictions import ContinuationQuery

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
    """An error that the user can fix, printed by click as one sentence."""

    exit_code = 2


class Commands(click.Group):
    """A click group that prints what a user can fix as click prints wrong usage, and any other error as Python does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click.Group. Raises click.UsageError for arguments that are not valid text."""
        if any(re.search("[\ud800-\udfff]", word) for word in args):
            raise click.UsageError("An argument holds bytes that are not UTF-8; leave them out.", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. Raises Refused for what the user can fix."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            raise Refused(str(error)) from error
        except MemoryError as error:
            raise Refused("This machine does not have enough memory; choose a smaller text, file or model.") from error
        except OSError as error:
            if error.errno == errno.EPIPE:   # the reading program closed the pipe, which click handles
                raise
            raise Refused(f"{error.filename or 'The output'} cannot be read or written ({error.strerror or error}); "
                          f"choose another place.") from error


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
    """Return the answer, shipped or computed in this thread, with progress on standard error if that is a terminal.
    Raises UserError if there is no answer."""
    found: A | None = desk.measured_before(question)
    if found is None:
        found = desk.models.answer(question, lambda fraction, text: tell(f"\r{fraction:4.0%} {text:<60.60}"))
        tell("\r" + " " * 66 + "\r")
    return found


ANSWER = click.option("--answer", "most", type=click.IntRange(1), metavar="TOKENS",
                      help="The model first writes up to this many tokens behind the text, which are then part of it.")


def with_answer(query: Query, most: int | None) -> Query:
    """Return the query with what its model writes behind it, at most this many tokens; None for nothing."""
    return query if most is None else replace(query, continuation=answer_to(ContinuationQuery(query, most)))


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
