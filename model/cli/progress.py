"""Waiting for an answer on the command line."""
import sys

import click

from model.ask import sources


def answer_to(question):
    """The answer, with progress on standard error where a person sees it. Raises UserError if there is none."""
    job, seen = sources.ask(question, "command line"), sys.stderr.isatty()
    while not job.wait(0.2):
        if seen:
            click.echo(f"\r{job.fraction:4.0%} {job.text:<60.60}", nl=False, err=True)
    if seen:
        click.echo("\r" + " " * 66 + "\r", nl=False, err=True)
    return job.result()
