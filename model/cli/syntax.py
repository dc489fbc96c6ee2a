"""python -m model syntax: do heads follow the trees of a treebank?"""
import json
import math
from pathlib import Path
from typing import Any

import click

from model.ask import sources
from model.cli.commands import FilePath, answer_to
from model.core.query import UserError
from model.core.types import head_label
from model.studies.syntax.report import Choice, RelationScore, SyntaxQuery, SyntaxReport
from model.studies.syntax.treebank import read_treebank


@click.command("syntax")
@click.argument("file", type=FilePath("read"))
@click.option("--model", "model_id", required=True, help="A name of the catalogue, a hub id, a folder, or a GGUF file.")
@click.option("--relations", help="Only these, with commas between them and without subtypes: obj,det,nsubj.")
@click.option("--json", "as_json", is_flag=True,
              help="One JSON object: sentences, and relations with n, held_out, interval, offset, luck, chosen, best.")
def syntax_command(file: Path, model_id: str, relations: str | None, as_json: bool) -> None:
    """Do heads follow grammar? Every head against the trees of FILE, a treebank in CoNLL-U.

    A head is right about a relation where the word that it looks at most is the one that the tree ties the word to,
    looking from the dependent or from its head. The best is chosen on half of the sentences and judged on the others,
    beside the best fixed offset, chosen so too, and beside luck: the best of all with trees exchanged among sentences
    of equal length. Intervals are 95 %, drawn over sentences.

    \b
    python -m model syntax en_ewt-ud-dev.conllu --model minilm
    python -m model syntax en_ewt-ud-dev.conllu --model smollm2 --relations obj,det,nsubj --json
    """
    revision = sources.revision(model_id)
    wanted = tuple(dict.fromkeys(name.strip() for name in (relations or "").split(",") if name.strip()))
    if relations is not None and not wanted:
        raise UserError("There is no relation after --relations; name some, such as obj,det, or leave it out.")
    with file.open("rb") as opened:
        sentences = read_treebank(opened, file.name)
    try:
        report: SyntaxReport = answer_to(SyntaxQuery(model_id, revision, sentences, wanted))
    except UserError as error:
        raise UserError(f"{file.name}: {error}") from error
    if as_json:
        named = {"model": model_id, "revision": revision, "file": file.name}
        click.echo(json.dumps(named | as_object(report), allow_nan=False, ensure_ascii=False))
    else:
        click.echo(as_text(report))


def as_object(report: SyntaxReport) -> dict[str, Any]:
    """The report as JSON has it. What cannot be said, such as the accuracy on other sentences of a relation that
    stands in one half only, is null. Beside what the command's help names: how many sentences were left out and why,
    how many keep their trees in the exchange, relations left out, and by relation the 95th percentile of luck and the
    share of tests that the model's mask allows in each direction."""
    counts = report.counts
    return {"sentences": counts.sentences,
            "left_out": {"form_not_found": counts.not_found, "too_long": counts.too_long},
            "relations_left_out": counts.unplaced, "alone": report.alone,
            "relations": {score.name: _relation(score) for score in report.relations}}


def _relation(score: RelationScore) -> dict[str, Any]:
    held_out = score.held_out
    interval = None if held_out is None or math.isnan(held_out.low) else [held_out.low, held_out.high]
    return {"n": score.n, "held_out": None if held_out is None else held_out.value, "interval": interval,
            "offset": score.offset, "luck": score.luck.mean, "luck_high": score.luck.high,
            "possible": dict(zip(("dependent", "head"), score.possible, strict=True)),
            "chosen": [_choice(each) for each in score.chosen],
            "best": _choice(score.best) | {"accuracy": score.accuracy}}


def _choice(choice: Choice) -> dict[str, Any]:
    return {"from": choice.direction, "layer": choice.layer, "head": choice.head}


def as_text(report: SyntaxReport) -> str:
    """The report for a person."""
    counts = report.counts
    lines = [f"{counts.sentences:,} sentences, {len(counts.heads)} heads, looking from the dependent or from its head"]
    if counts.not_found + counts.too_long + counts.unplaced:
        lines.append(f"left out: {counts.not_found:,} sentences with a form that is not in their text, "
                     f"{counts.too_long:,} longer than the model reads; {counts.unplaced:,} relations of words "
                     f"without a place")
    lines.append(f"{'relation':<12} {'n':>6} {'held out':>8} {'interval':>17} {'offset':>7} {'luck':>7}  best of all "
                 f"sentences")
    lines += [_line(score) for score in report.relations]
    lines.append("held out: the head chosen on half of the sentences, judged on the others; offset: the best fixed "
                 "one, chosen so; luck: the best of all heads with trees exchanged")
    if any(share < 1 for score in report.relations for share in score.possible):
        lines.append("what the mask forbids counts as wrong; possible from the dependent, from the head: "
                     + ", ".join(f"{score.name} {score.possible[0]:.0%}, {score.possible[1]:.0%}"
                                 for score in report.relations))
    return "\n".join(lines)


def _line(score: RelationScore) -> str:
    held_out, offset = score.held_out, score.offset
    value = "–" if held_out is None else f"{held_out.value:.1%}"
    span = "–" if held_out is None or math.isnan(held_out.low) else f"{held_out.low:.1%} to {held_out.high:.1%}"
    return (f"{score.name:<12} {score.n:>6,} {value:>8} {span:>17} {'–' if offset is None else f'{offset:.1%}':>7} "
            f"{score.luck.mean:>7.1%}  {score.accuracy:.1%} {head_label(score.best.layer, score.best.head)} from the "
            f"{score.best.direction}")
