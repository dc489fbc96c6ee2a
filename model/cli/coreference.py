"""python -m model coref: the test of "it" over a set, on the command line."""
import json
import math
from dataclasses import asdict
from pathlib import Path

import click

from model.ask import sources
from model.cli.commands import FilePath, answer_to
from model.core.query import UserError
from model.core.statistics import MeanInterval, accuracy_intervals
from model.core.types import head_label
from model.studies.coreference import (
    AnswersQuery,
    Case,
    CasesQuery,
    HeadScore,
    Report,
    frames_of,
    read_file,
    report,
    shipped_cases,
)

SHOWN = 5


@click.command("coref")
@click.option("--model", "model_id", required=True, help="A name of the catalogue, a hub id, or a folder.")
@click.option("--cases", type=FilePath("read"),
              help="A CSV with the columns sentence, pronoun, correct, wrong; optional pronoun_start, frame, pair. "
                   "Without it: the set that "
                   "comes with Clearhead.")
@click.option("--select-on", type=FilePath("read"),
              help="Another such CSV: the head that is best on it is scored on the cases. Without it the head is "
                   "chosen on one half of the frames.")
@click.option("--json", "as_json", is_flag=True,
              help="One JSON object: n, heads, best, held_out, luck, baselines, untrained, answers.")
def coref_command(model_id: str, cases: Path | None, select_on: Path | None, as_json: bool) -> None:
    """Does any attention head know what "it" is? Every head over a set of sentences, against chance, baselines and
    luck.

    A head answers with the noun that the pronoun's row gives more weight. Intervals are 95 %, drawn over frames. The
    untrained twin has the same architecture and random weights.

    \b
    python -m model coref --model minilm
    python -m model coref --model minilm --cases mine.csv --select-on other.csv --json
    """
    revision = sources.revision(model_id)
    chosen, left_out = (shipped_cases("coreference"), ()) if cases is None else read_file(cases)
    answer = answer_to(CasesQuery(model_id, revision, chosen))
    select = None
    if select_on is not None:
        others, more = read_file(select_on)
        select, left_out = answer_to(CasesQuery(model_id, revision, others)), (*left_out, *more)
    rows = ("pronoun", "later") if answer.reads_left_to_right and not chosen[0].answer else ("pronoun",)
    reports = {row: report(answer, row, select) for row in rows}
    untrained, answers = _untrained(model_id, chosen, rows[-1]), _answers(AnswersQuery(model_id, revision, chosen))
    if as_json:
        results = as_object(reports["pronoun"]) | {"later": as_object(reports["later"]) if "later" in reports else None}
        named = {"model": model_id, "revision": revision, "cases": cases.name if cases else "coreference.csv",
                 "unknown": answer.unknown, "left_out": left_out}
        click.echo(json.dumps({**named, **results, "untrained": untrained, "answers": answers}, allow_nan=False,
                              ensure_ascii=False))
    else:
        click.echo("\n\n".join([*(as_text(result) for result in reports.values()),
                                _closing(untrained, answers, answer.unknown), *_left_out(left_out)]))


def _left_out(rows: tuple[str, ...]) -> list[str]:
    return [f"{len(rows)} of the rows left out:\n  " + "\n  ".join(rows[:SHOWN])] if rows else []


def _untrained(model_id: str, cases: tuple[Case, ...], rows: str) -> dict:
    """The same test of the model's untrained twin; where there is none, the reason."""
    twin = sources.untrained(model_id)
    try:
        result = report(answer_to(CasesQuery(twin, sources.revision(twin), cases)), rows)
    except UserError as error:
        return {"reason": str(error)}
    short = as_object(result)
    return {name: short[name] for name in ("rows", "best", "held_out", "luck")}


def _answers(question: AnswersQuery) -> dict:
    """How often the model itself says the right one; where it says no words, the reason."""
    try:
        answers = answer_to(question)
    except UserError as error:
        return {"reason": str(error)}
    right = (answers.scores[:, :1] > answers.scores[:, 1:]) + (answers.scores[:, :1] == answers.scores[:, 1:]) / 2
    return {"way": answers.way, **_interval(accuracy_intervals(right, frames_of(question.cases))[0])}


def _interval(mean: MeanInterval) -> dict:
    return {"accuracy": mean.value, "interval": None if math.isnan(mean.low) else [mean.low, mean.high]}


def _head(score: HeadScore) -> dict:
    return {"kind": score.kind, "layer": score.layer, "head": score.head, **_interval(score.accuracy),
            "mass": score.mass, "both": None if math.isnan(score.both) else score.both, "received": score.received}


def as_object(result: Report) -> dict:
    """The report as JSON has it."""
    held_out = None if result.held_out is None else _interval(result.held_out.accuracy) | {
        "chosen": [{name: getattr(result.named(number), name) for name in ("kind", "layer", "head")}
                   for number in result.held_out.chosen]}
    return {"rows": result.rows, "n": result.n, "pairs": result.pairs, "frames": result.frames,
            "heads": [_head(head) for head in result.heads],
            "best": _head(result.best), "held_out": held_out, "luck": asdict(result.luck),
            "baselines": dict(result.baselines)}


def _percent(value: float, low: float, high: float) -> str:
    span = "no interval: one frame" if math.isnan(low) else f"{low:.1%} to {high:.1%}"
    return f"{value:.1%} ({span})"


def as_text(result: Report) -> str:
    """The report for a person."""
    where = "from the pronoun" if result.rows == "pronoun" else "from the words behind the pronoun"
    lines = [f"{result.n} sentences in {result.frames} frames, {len(result.heads)} heads, looking {where}"]
    lines += [f"  layer {layer} head {head} (in papers {layer + 1}-{head + 1}): "
              f"{_percent(row['accuracy'], row['low'], row['high'])}, weight on both nouns {row['mass']:.3f}"
              + ("" if math.isnan(row["both"]) else f", both twins right {row['both']:.1%}")
              for (layer, head), row in result.frame().head(SHOWN).iterrows()]
    if result.held_out is not None:
        heads = " and ".join(head_label(head.layer, head.head) for head in map(result.named, result.held_out.chosen))
        scored = result.held_out.accuracy
        lines.append(f"  chosen on other sentences ({heads}): {_percent(scored.value, scored.low, scored.high)}")
    lines.append(f"  luck: the best of as many heads that know nothing reaches {result.luck.mean:.1%} on average and "
                 f"{result.luck.high:.1%} "
                 f"one time in twenty; p = {result.luck.p_value:.4f}")
    lines.append("  baselines: " + ", ".join(f"{name} {value:.1%}" for name, value in result.baselines.items()))
    return "\n".join(lines)


def _closing(untrained: dict, answers: dict, unknown: int) -> str:
    lines = []
    if "reason" in untrained:
        lines.append(f"untrained twin: {untrained['reason']}")
    else:
        lines.append(f"untrained twin: best head {untrained['best']['accuracy']:.1%}, p = "
                     f"{untrained['luck']['p_value']:.4f}")
    lines.append("the model's own answers: " + (answers["reason"] if "reason" in answers
                                                else f"{answers['accuracy']:.1%} right"))
    if unknown:
        lines.append(f"{unknown} sentences have a word that the model's vocabulary lacks")
    return "\n".join(lines)
