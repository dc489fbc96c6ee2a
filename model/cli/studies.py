"""python -m model coref | claims | syntax | train: test heads on coreference, claims and grammar; train models."""
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from model.ask import sources
from model.cli.commands import FOLDER, JSON, MODEL, READ, answer_to, as_json, whole
from model.core.files import make_folder
from model.core.query import UserError, head_label
from model.core.statistics import MeanInterval, accuracy_intervals
from model.studies import coreference, syntax
from model.studies.claims import catalogue as claims
from model.studies.claims.claim import Finding, judge

SHOWN = 5


@click.command("coref")
@MODEL
@click.option("--cases", type=READ,
              help="A CSV with the columns sentence, pronoun, correct, wrong and, optionally, pronoun_start, frame, "
                   "pair; default: the set that comes with Clearhead.")
@click.option("--select-on", type=READ,
              help="Another such CSV, used to choose the head that is scored on the cases; default: one half of "
                   "the frames chooses, the other half scores.")
@JSON
def coref_command(model_id: str, cases: Path | None, select_on: Path | None, json_wanted: bool) -> None:
    """Test every head on what "it" refers to, over a set of sentences, against chance, baselines and the max-statistic
    null distribution.

    A head's answer is the noun with more weight in the pronoun's row. Intervals are 95 %, bootstrapped over frames. The
    untrained twin has the same architecture and random weights.

    \b
    python -m model coref --model minilm
    python -m model coref --model minilm --cases mine.csv --select-on other.csv --json
    """
    revision = sources.revision(model_id)
    chosen, left_out = ((coreference.shipped_cases("coreference"), ()) if cases is None
                        else coreference.read_file(cases))
    answer = answer_to(coreference.CasesQuery(model_id, revision, chosen))
    select = None
    if select_on is not None:
        others, more = coreference.read_file(select_on)
        select, left_out = answer_to(coreference.CasesQuery(model_id, revision, others)), (*left_out, *more)
    rows = ("pronoun", "later") if answer.reads_left_to_right and not chosen[0].answer else ("pronoun",)
    reports = {row: coreference.report(answer, row, select) for row in rows}
    untrained, answers = _untrained(model_id, chosen, rows[-1]), _answers(model_id, revision, chosen)
    if json_wanted:
        as_json({"model": model_id, "revision": revision, "cases": cases.name if cases else "coreference.csv",
                 "unknown": answer.unknown, "left_out": left_out} | coref_as_object(reports["pronoun"])
                | {"later": coref_as_object(reports["later"]) if "later" in reports else None,
                   "untrained": untrained, "answers": answers})
        return
    for report in reports.values():
        click.echo(coref_as_text(report) + "\n")
    click.echo("untrained twin: " + (untrained.get("reason") or f"best head {untrained['best']['accuracy']:.1%}, "
                                     f"p = {untrained['luck']['p_value']:.4f}"))
    click.echo(f"the model's own answers: {answers.get('reason') or format(answers['accuracy'], '.1%') + ' right'}")
    if answer.unknown:
        click.echo(f"{answer.unknown} sentences contain a word that is not in the model's vocabulary")
    if left_out:
        click.echo("\n  ".join([f"{len(left_out)} rows left out:", *left_out[:SHOWN]]))


def _untrained(model_id: str, cases: tuple[coreference.Case, ...], rows: str) -> dict[str, Any]:
    """Run the same test on the model's untrained twin. If there is none, return the reason."""
    twin = sources.untrained(model_id)
    try:
        short = coref_as_object(coreference.report(
            answer_to(coreference.CasesQuery(twin, sources.revision(twin), cases)), rows))
    except UserError as error:
        return {"reason": str(error)}
    return {name: short[name] for name in ("rows", "best", "held_out", "luck")}


def _answers(model_id: str, revision: str, cases: tuple[coreference.Case, ...]) -> dict[str, Any]:
    """Return how often the model itself answers correctly. If it does not predict words, return the reason."""
    try:
        answers = answer_to(coreference.AnswersQuery(model_id, revision, cases))
    except UserError as error:
        return {"reason": str(error)}
    right = coreference.correctness(answers.scores)[:, None]
    return {"way": answers.way, **_interval(accuracy_intervals(right, coreference.frames_of(cases))[0])}


def _interval(mean: MeanInterval) -> dict[str, object]:
    return {"accuracy": mean.value, "interval": None if math.isnan(mean.low) else [mean.low, mean.high]}


def _head(score: coreference.HeadScore) -> dict[str, object]:
    return {"kind": score.kind, "layer": score.layer, "head": score.head, **_interval(score.accuracy),
            "mass": score.mass, "both": None if math.isnan(score.both) else score.both, "received": score.received}


def coref_as_object(result: coreference.Report) -> dict[str, object]:
    """Return the report as a JSON object."""
    held_out = None if result.held_out is None else _interval(result.held_out.accuracy) | {
        "chosen": [{name: getattr(result.named(number), name) for name in ("kind", "layer", "head")}
                   for number in result.held_out.chosen]}
    return {"rows": result.rows, "n": result.n, "pairs": result.pairs, "frames": result.frames,
            "heads": [_head(head) for head in result.heads],
            "best": _head(result.best), "held_out": held_out, "luck": asdict(result.luck),
            "baselines": dict(result.baselines)}


def _percent(mean: MeanInterval) -> str:
    span = "no interval: only one frame" if math.isnan(mean.low) else f"{mean.low:.1%} to {mean.high:.1%}"
    return f"{mean.value:.1%} ({span})"


def coref_as_text(result: coreference.Report) -> str:
    """Format the report as text."""
    where = "from the pronoun" if result.rows == "pronoun" else "from the words after the pronoun"
    lines = [f"{result.n} sentences in {result.frames} frames, {len(result.heads)} heads, looking {where}"]
    for head in sorted(result.heads, key=lambda head: (-head.accuracy.value, -head.mass))[:SHOWN]:
        lines.append(f"  {head_label(head.layer, head.head)}: {_percent(head.accuracy)}, weight on both nouns "
                     f"{head.mass:.3f}, both twins right {head.both:.1%}")
    if result.held_out is not None:
        heads = " and ".join(head_label(head.layer, head.head) for head in map(result.named, result.held_out.chosen))
        lines.append(f"  chosen on other sentences ({heads}): {_percent(result.held_out.accuracy)}")
    lines.append(f"  chance: the best of as many random heads reaches {result.luck.mean:.1%} on average, 95th "
                 f"percentile {result.luck.high:.1%}; p = {result.luck.p_value:.4f}")
    lines.append("  baselines: " + ", ".join(f"{name} {value:.1%}" for name, value in result.baselines.items()))
    return "\n".join(lines)


@click.command("claims")
@click.option("--only", "names", multiple=True, metavar="NAME", help="Only this claim; repeat for several.")
@click.option("--list", "listed", is_flag=True, help="List names and sentences; measure nothing.")
@JSON
def claims_command(names: tuple[str, ...], listed: bool, json_wanted: bool) -> None:
    """Test which published claims about attention heads hold on the models on this disk. Every row is measured afresh;
    no verdict is stored.

    A claim holds if its whole 95 % interval is above the baseline and, for a head chosen among many, above the
    max-statistic null. All rows take a few minutes on two cores.

    \b
    python -m model claims
    python -m model claims --only previous --only sink --json
    """
    if unknown := [name for name in names if name not in claims.BY_NAME]:
        raise UserError(f"There is no claim {unknown[0]!r}; choose from: {', '.join(claims.BY_NAME)}.")
    if listed:
        for name in names or claims.BY_NAME:
            source = claims.short_source(claims.BY_NAME[name].paper)
            click.echo(f"{name:<15} {claims.words()['claims'][name]['sentence']} ({source})")
        return
    on_disk = {offer.id for offer in sources.catalogue() if offer.on_disk}
    wanted = [row for row in claims.rows(on_disk) if not names or row.claim.name in names]
    results = []
    for number, row in enumerate(wanted):
        click.echo(f"{number + 1} of {len(wanted)}: {row.claim.name} {row.model}".rstrip(), err=True)
        revision = sources.revision(row.model) if row.model else None
        measured, error = None, ""
        if revision is not None:
            try:
                measured = answer_to(claims.ClaimQuery(row.claim.name, row.model, revision))
            except UserError as refused:
                error = str(refused)
        results.append(claims.as_object(row, revision, measured, error))
        if not json_wanted:
            click.echo(claim_as_text(results[-1], measured.findings if measured else ()))
            sys.stdout.flush()
    if json_wanted:
        as_json(results, indent=1)


def claim_as_text(result: dict[str, Any], findings: tuple[Finding, ...]) -> str:
    """Format a row as text. An asterisk marks the deciding finding."""
    lines = [result["sentence"] + (f" ({result['model']})" if result["model"] else ""),
             f"  {result['verdict']}: {result['because']}"]
    for found in findings:
        decides = len(findings) > 1 and found is judge(findings).finding
        lines.append(f"  {claims.numbers_in_words(found)}{' *' if decides else ''}")
    if result["fetch"]:
        lines.append("  " + claims.words()["fetch"].format(commands=result["fetch"]).replace("`", ""))
    return "\n".join(lines)


@click.command("syntax")
@click.argument("file", type=READ)
@MODEL
@click.option("--relations", help="Only these relations, comma-separated, without subtypes: obj,det,nsubj.")
@JSON
def syntax_command(file: Path, model_id: str, relations: str | None, json_wanted: bool) -> None:
    """Compare every head with the dependency trees of FILE, a treebank in CoNLL-U.

    An attention head is right about a relation if its largest weight is on the word that the tree links, from the
    dependent or from its head. The best head is chosen on half of the sentences and evaluated on the other half, like
    the best fixed offset; the null distribution is the best of all heads with trees exchanged among sentences of equal
    length. Intervals are 95 %, bootstrapped over sentences.

    \b
    python -m model syntax en_ewt-ud-dev.conllu --model minilm
    python -m model syntax en_ewt-ud-dev.conllu --model smollm2 --relations obj,det,nsubj --json
    """
    revision = sources.revision(model_id)
    wanted = tuple(dict.fromkeys(name.strip() for name in (relations or "").split(",") if name.strip()))
    with file.open("rb") as opened:
        sentences = syntax.read_treebank(opened, file.name)
    try:
        report: syntax.SyntaxReport = answer_to(syntax.SyntaxQuery(model_id, revision, sentences, wanted))
    except UserError as error:
        raise UserError(f"{file.name}: {error}") from error
    if json_wanted:
        as_json({"model": model_id, "revision": revision, "file": file.name} | syntax_as_object(report))
    else:
        click.echo(syntax_as_text(report))


def syntax_as_object(report: syntax.SyntaxReport) -> dict[str, object]:
    """Return the report as a JSON object. Missing values are null, such as the held-out accuracy of a relation that
    only occurs in one half.

    left_out, relations_left_out: numbers by reason. alone: number of sentences that keep their trees in the exchange.
    possible: share of tests that the mask allows in each direction.
    """
    counts = report.counts
    return {"sentences": counts.sentences,
            "left_out": {"form_not_found": counts.not_found, "too_long": counts.too_long},
            "relations_left_out": counts.unplaced, "alone": report.alone,
            "relations": {score.name: _relation(score) for score in report.relations}}


def _relation(score: syntax.RelationScore) -> dict[str, object]:
    held_out = score.held_out
    interval = None if held_out is None or math.isnan(held_out.low) else [held_out.low, held_out.high]
    return {"n": score.n, "held_out": None if held_out is None else held_out.value, "interval": interval,
            "offset": score.offset, "luck": score.luck.mean, "luck_high": score.luck.high,
            "possible": dict(zip(syntax.DIRECTIONS, score.possible, strict=True)),
            "chosen": [_choice(each) for each in score.chosen],
            "best": _choice(score.best) | {"accuracy": score.accuracy}}


def _choice(choice: syntax.Choice) -> dict[str, object]:
    return {"from": choice.direction, "layer": choice.layer, "head": choice.head}


def syntax_as_text(report: syntax.SyntaxReport) -> str:
    """Format the report as text."""
    counts = report.counts
    lines = [f"{counts.sentences:,} sentences, {len(counts.heads)} heads, looking from the dependent or from its head"]
    if counts.not_found + counts.too_long + counts.unplaced:
        lines.append(f"left out: {counts.not_found:,} sentences with a word missing from the text, "
                     f"{counts.too_long:,} longer than the model reads; {counts.unplaced:,} relations of words "
                     f"without a position")
    lines.append(f"{'relation':<12} {'n':>6} {'held out':>8} {'interval':>17} {'offset':>7} {'luck':>7}  best over all "
                 f"sentences, possible from the dependent, from the head")
    for score in report.relations:
        held_out = score.held_out or syntax.UNMEASURED
        offset = math.nan if score.offset is None else score.offset
        lines.append(f"{score.name:<12} {score.n:>6,} {held_out.value:>8.1%} "
                     f"{f'{held_out.low:.1%} to {held_out.high:.1%}':>17} {offset:>7.1%} {score.luck.mean:>7.1%}  "
                     f"{score.accuracy:.1%} {head_label(score.best.layer, score.best.head)} from the "
                     f"{score.best.direction}, {score.possible[0]:.0%}, {score.possible[1]:.0%}")
    lines.append("held out: the head chosen on half of the sentences, tested on the others; offset: the best fixed "
                 "one, likewise; luck: the best of all heads with exchanged trees; possible: what the mask allows")
    return "\n".join(lines)


@click.command("train")
@click.argument("task")
@click.option("--out", type=FOLDER, default=Path("trained"), show_default=True, help="Folder for the weights.")
@click.option("--steps", type=whole(1), help="Training steps; default: the task's own number.")
@click.option("--seed", type=whole(), default=1, show_default=True,
              help="Seed for the initial weights and the training sentences.")
def train_command(task: str, out: Path, steps: int | None, seed: int) -> None:
    """Train one of Clearhead's small models from scratch, in minutes on one core.

    TASK is resolver-narrow, resolver-wide (resolver: both), translator, induction, stories or marked-digit. The weights
    are written to OUT/TASK.safetensors, snapshots to OUT/TASK-film.safetensors. The same command resumes a stopped
    training.
    """
    from model.scratch import models
    from model.scratch.task import tasks_named
    from model.scratch.train import TrainingStep, train

    make_folder(out)
    for each in tasks_named(task):
        begin = time.perf_counter()
        with click.progressbar(length=steps or each.steps, label=each.name, item_show_func=lambda text: text) as bar:
            def show(progress: TrainingStep, bar: Any = bar) -> None:
                bar.update(progress.step - bar.pos, f"loss {progress.loss:.4f}, right {progress.right:.1%}")
            path = train(each, out, steps, seed, show)
        scores = ", ".join(f"{name} {value:.4g}" for name, value in models.read_metadata(path)["scores"].items())
        click.echo(f"{path}: {scores}; {time.perf_counter() - begin:.0f} s")
