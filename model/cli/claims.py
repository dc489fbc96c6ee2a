"""python -m model claims: what has been said about attention heads, measured again."""
import json
import math
import sys

import click

from model.ask import sources
from model.cli.commands import answer_to
from model.core.query import UserError
from model.studies.claims.catalogue import BY_NAME, ClaimQuery, Row, as_object, rows, short_source, words
from model.studies.claims.claim import Finding, Measurement
from model.studies.claims.rule import judge


@click.command("claims")
@click.option("--only", "names", multiple=True, metavar="NAME", help="Only this claim; may be given more than once.")
@click.option("--list", "listed", is_flag=True, help="Names and sentences alone; nothing is measured.")
@click.option("--json", "as_json", is_flag=True,
              help="One JSON list of rows: claim, sentence, source, there, here, model, revision, findings, verdict, "
                   "because, fetch, picture, measurement.")
def claims_command(names: tuple[str, ...], listed: bool, as_json: bool) -> None:
    """Which published claims about attention heads hold on the models of this disk? Every row is measured anew; no
    verdict is stored.

    A number holds if its whole 95 % interval is above its baseline and a head that was chosen among many is above luck.
    All rows take some minutes on two cores.

    \b
    python -m model claims
    python -m model claims --only previous --only sink --json
    """
    if unknown := [name for name in names if name not in BY_NAME]:
        raise UserError(f"There is no claim {unknown[0]!r}; choose among: {', '.join(BY_NAME)}.")
    if listed:
        for name in names or BY_NAME:
            click.echo(f"{name:<15} {words()['claims'][name]['sentence']} ({short_source(BY_NAME[name].paper)})")
        return
    on_disk = {offer.id for offer in sources.catalogue() if offer.on_disk}
    wanted = [row for row in rows(on_disk) if not names or row.claim.name in names]
    results = []
    for number, row in enumerate(wanted):
        click.echo(f"{number + 1} of {len(wanted)}: {row.claim.name} {row.model}".rstrip(), err=True)
        results.append(_measured(row))
        if not as_json:
            click.echo(as_text(*results[-1]))
            sys.stdout.flush()
    if as_json:
        click.echo(json.dumps([result for result, _ in results], ensure_ascii=False, allow_nan=False, indent=1))


def _measured(row: Row) -> tuple[dict, Measurement | None]:
    """A row as JSON has it, and its measurement where there is one."""
    if not row.model:
        return as_object(row, None, None), None
    revision = sources.revision(row.model)
    try:
        measured = answer_to(ClaimQuery(row.claim.name, row.model, revision))
    except UserError as error:
        return as_object(row, revision, None, str(error)), None
    return as_object(row, revision, measured), measured


def as_text(result: dict, measured: Measurement | None) -> str:
    """A row for a person."""
    lines = [result["sentence"] + (f" ({result['model']})" if result["model"] else ""),
             f"  {result['verdict']}: {result['because']}"]
    if measured is not None:
        decided = judge(measured.findings).finding
        lines += ["  " + _numbers(found) + (" *" if found is decided and len(measured.findings) > 1 else "")
                  for found in measured.findings]
    if result["fetch"]:
        lines.append("  " + words()["fetch"].format(commands=result["fetch"]).replace("`", ""))
    return "\n".join(lines)


def _numbers(found: Finding) -> str:
    said, write = words(), f"{{:z.{_digits(found)}f}}".format
    luck = "" if found.luck is None or found.best is None else said["numbers_luck"].format(
        luck=write(found.luck), best=write(found.best))
    between = "no_interval" if math.isnan(found.low) or math.isnan(found.high) else "interval"
    return f"{said['findings'][found.name]['what']}: " + said["numbers"].format(
        effect=write(found.effect), interval=said[between].format(low=write(found.low), high=write(found.high)),
        baseline=write(found.baseline), luck=luck, n=found.n, counted=said["counted"][found.counted])


def _digits(found: Finding) -> int:
    """As many decimals as show on which side of its bound each number lies that the rule compares, three at least."""
    apart = [abs(one - other) for one, other in ((found.low, found.baseline), (found.high, found.baseline),
                                                 (found.best, found.luck)) if one is not None and other is not None]
    return next((digits for digits in range(3, 9) if not any(0 < each < 10.0**-digits for each in apart)), 9)
