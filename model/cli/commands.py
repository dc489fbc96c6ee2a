"""What every command line of the project shares: what an argument may be, and refusals as one sentence.

Exit codes: 0 done, 2 refused or wrong usage, 1 a fault of our own; `python -m model verify` has more of its own.
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
LARGEST = 2**63 - 1    # of any number: what 64 bits hold
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
    """Raise UserError if no file can be written there, or where it is one of `read` or of the model's, by whatever name
    or link."""
    of_model: tuple[Path, ...] = ()
    with suppress(OSError, ValueError, RuntimeError):   # what no system takes as a path
        place = Path(model_id).expanduser()
        of_model = tuple(place.iterdir()) if place.is_dir() else (place,)
    files.refuse_overwriting(out, *read, *of_model)


class Refused(click.ClickException):
    """What a person can do something about, as it is printed: the usage, if it is that, and one sentence."""

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
    """What should not happen, said in a sentence that names the place."""

    exit_code = 1


def in_one_line(text: str) -> str:
    """Return text for a terminal: one line, and nothing that cannot be seen."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in " ".join(text.split()))


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
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise Fault(f"This should not happen ({type(error).__name__}: {error}, {Path(place.filename).name} line "
                    f"{place.lineno}); report it with the command that was given.") from error


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

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does. Raises click.UsageError for an option that is given twice: click would take the last."""
        name, command, rest = super().resolve_command(ctx, args)
        given: list[click.Parameter] = []
        if command is not None and not isinstance(command, click.Group):
            with suppress(click.UsageError):   # raised again, with the command's own usage, when it parses them
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
    """The whole program: `commands` with what was typed behind `name`. Output into files and pipes is UTF-8: Windows
    gives those a code page that lacks most characters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    commands(prog_name=name)


def kept_picture(path: Path) -> str:
    """Return the sha256 of a picture file, which is held for this process from now on. Raises UserError for what is no
    picture."""
    LIMITS.refuse_above("picture_bytes", path.stat().st_size, str(path), "make it smaller")
    return pictures.keep(path.read_bytes(), path.name).sha256


def answer_to(question: Hashable) -> Any:
    """Return the answer, with progress on standard error where a person sees it. Raises UserError if there is none."""
    job = sources.ask(question, "command line")
    while not job.wait(0.2):
        tell(f"\r{job.fraction:4.0%} {job.text:<60.60}")
    tell("\r" + " " * 66 + "\r")
    return job.result()


def tell(text: str) -> None:
    """Show what a person watches; into a file goes nothing of it."""
    if sys.stderr.isatty():
        click.echo(text, nl=False, err=True)


def as_json(content: object, indent: int | None = None) -> None:
    """Print JSON."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent))


@click.command("limits")
@JSON
def limits_command(json_wanted: bool) -> None:
    """The limits that can be set: the variable, its value, and what it bounds; _MB are megabytes."""
    rows = as_rows(LIMITS)
    if json_wanted:
        as_json(rows, indent=1)
        return
    for row in rows:
        other = "" if row["value"] == row["default"] else f" (default {row['default']:,.10g})"
        click.echo(f"{row['setting']:<30} {row['value']:>12,.10g}  {row['of']}{other}")
