"""The command line's own: what it writes, and how it waits for an answer."""
import io
import sys
from collections.abc import Hashable
from typing import Any

import click

from model.ask import sources


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
