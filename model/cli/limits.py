"""python -m model limits: what bounds files, models, texts and links from outside, and how each bound is changed."""
import json

import click

from model.core.limits import LIMITS, as_rows


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
