"""clearhead coref | claims | syntax | train: test heads on coreference, claims and grammar; train models."""
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearhead.model import sources
from clearhead.model.cli.commands import FOLDER, JSON, MODEL, READ, answer_to, as_json, echo_table
from clearhead.model.core.files import make_folder
from clearhead.model.core.models import A, Question
from clearhead.model.core.query import Kind, UserError, errors_at
from clearhead.model.core.record import unread
from clearhead.model.core.statistics import accuracy_intervals, too_few
from clearhead.model.studies import coreference, syntax
from clearhead.model.studies.claims.claim import Finding, judge

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

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

    A head's answer is the noun with more weight in the pronoun's row. Intervals are 95%, bootstrapped over frames, and
    the null swaps right and wrong in whole frames; fewer than eight frames give neither. The untrained twin has the
    same architecture and random weights.

    \b
    clearhead coref --model minilm
    clearhead coref --model minilm --cases mine.csv --select-on other.csv --json
    """
    revision, twin = sources.revision(model_id), sources.untrained(model_id)
    chosen, left_out = ((coreference.shipped_cases("coreference"), ()) if cases is None
                        else coreference.read_cases(cases.read_bytes(), cases.name))
    answer = answer_to(coreference.CasesQuery(model_id, revision, chosen))
    select = None
    if select_on is not None:
        others, more = coreference.read_cases(select_on.read_bytes(), select_on.name)
        select, left_out = answer_to(coreference.CasesQuery(model_id, revision, others)), (*left_out, *more)
    decoder = answer.heads[0][0] is Kind.CAUSAL
    rows = ("pronoun", "later") if decoder and not chosen[0].answer else ("pronoun",)
    reports = {row: coreference.report(answer, row, select) for row in rows}
    untrained = _or_reason(coreference.CasesQuery(twin, sources.revision(twin), chosen),
                           lambda found: coreference.report(found, rows[-1]).summary())
    answers = _or_reason(coreference.AnswersQuery(model_id, revision, chosen), lambda found: {
        "way": found.way, "accuracy": accuracy_intervals(coreference.correctness(found.scores)[:, None],
                                                         coreference.frames_of(chosen))[0]})
    if json_wanted:
        as_json({"model": model_id, "revision": revision, "cases": cases.name if cases else "coreference.csv",
                 "unknown": answer.unknown, "left_out": left_out, **reports["pronoun"].summary(),
                 "heads": reports["pronoun"].heads, "later": reports["later"].summary() if "later" in reports else None,
                 "untrained": untrained, "answers": answers})
        return
    for report in reports.values():
        click.echo(report)
        echo_table(report.frame().reset_index())
    without = untrained.get("reason") or f"best head {untrained['best'].accuracy.value:.1%}, " + (
        too_few(untrained["frames"], "frames") or f"p = {untrained['luck'].p_value:.4f}")
    click.echo(f"untrained twin: {without}")
    right = answers.get("reason") or f"{answers['accuracy'].value:.1%} right"
    click.echo(f"the model's own answers: {right}")
    if said := unread(model_id, answer.unknown, len(chosen), "sentences"):
        click.echo(said)
    if left_out:
        click.echo("\n  ".join([f"{len(left_out)} rows left out:", *left_out[:SHOWN]]))


def _or_reason(question: Question[A], found: Callable[[A], dict[str, Any]]) -> dict[str, Any]:
    """Return `found` of the answer to the question, or the reason why the model has none."""
    try:
        return found(answer_to(question))
    except UserError as error:
        return {"reason": str(error)}


@click.command("claims")
@click.option("--only", "names", multiple=True, metavar="NAME", help="Only this claim; repeat for several.")
@click.option("--list", "listed", is_flag=True, help="List names and sentences; measure nothing.")
@JSON
def claims_command(names: tuple[str, ...], listed: bool, json_wanted: bool) -> None:
    """Test which published claims about attention heads hold on the models on this disk. Every row is measured afresh;
    no verdict is stored.

    A claim holds if its whole 95% interval is above the baseline and, for a head chosen among many, above the
    max-statistic null. All rows take a few minutes on two cores.

    \b
    clearhead claims
    clearhead claims --only previous --only sink --json
    """
    from clearhead.model.studies.claims import catalogue as claims  # it imports every study

    if unknown := [name for name in names if name not in claims.BY_NAME]:
        raise UserError(f"There is no claim {unknown[0]!r}; choose from: {', '.join(claims.BY_NAME)}.")
    if listed:
        for name in names or claims.BY_NAME:
            source = claims.short_source(claims.BY_NAME[name].paper)
            click.echo(f"{name:<15} {claims.words()['claims'][name]['sentence']} ({source})")
        return
    on_disk = {offer.id for offer in sources.catalogue().values() if offer.on_disk}
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


def claim_as_text(result: dict[str, object], findings: tuple[Finding, ...]) -> str:
    """Format a row as text. An asterisk marks the deciding finding."""
    from clearhead.model.studies.claims import catalogue as claims

    lines = [f"{result['sentence']}" + (f" ({result['model']})" if result["model"] else ""),
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
    length. Intervals are 95%, bootstrapped over sentences, or over documents if FILE marks them (# newdoc); fewer than
    eight give none.

    \b
    clearhead syntax en_ewt-ud-dev.conllu --model minilm
    clearhead syntax en_ewt-ud-dev.conllu --model smollm2 --relations obj,det,nsubj --json
    """
    revision = sources.revision(model_id)
    wanted = tuple(dict.fromkeys(name.strip() for name in (relations or "").split(",") if name.strip()))
    with file.open("rb") as opened:
        sentences = syntax.read_treebank(opened, file.name)
    with errors_at(file.name):
        report: syntax.SyntaxReport = answer_to(syntax.SyntaxQuery(model_id, revision, sentences, wanted))
    if json_wanted:
        as_json({"model": model_id, "revision": revision, "file": file.name} | report.as_object())
        return
    counts = report.counts
    click.echo(f"{counts.sentences:,} sentences, {len(counts.heads)} heads; {counts.not_found + counts.too_long:,} "
               f"sentences and {counts.unplaced:,} relations left out")
    echo_table(report.frame().reset_index(), rows=None)


@click.command("train")
@click.argument("task")
@click.option("--out", type=FOLDER, default=Path("trained"), show_default=True, help="Folder for the weights.")
@click.option("--steps", type=click.IntRange(1), help="Training steps; default: the task's own number.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True,
              help="Seed for the initial weights and the training sentences.")
def train_command(task: str, out: Path, steps: int | None, seed: int) -> None:
    """Train one of Clearhead's small models from scratch, in minutes on one core.

    TASK is resolver-narrow, resolver-wide (resolver: both), translator, induction, stories, marked-digit or
    picture-questions. The weights are written to OUT/TASK.safetensors, snapshots to OUT/TASK-film.safetensors. The same
    command resumes a stopped training.
    """
    from clearhead.model.scratch import models
    from clearhead.model.scratch.task import tasks_named
    from clearhead.model.scratch.train import TrainingStep, train

    make_folder(out)
    for each in tasks_named(task):
        begin = time.perf_counter()
        with click.progressbar(length=steps or each.steps, label=each.name, item_show_func=lambda text: text) as bar:
            def show(progress: TrainingStep, bar: "ProgressBar[str | None]" = bar) -> None:
                bar.update(progress.step - bar.pos, f"loss {progress.loss:.4f}, right {progress.right:.1%}")
            path = train(each, out, steps, seed, show)
        scores = ", ".join(f"{name} {value:.4g}" for name, value in models.read_metadata(path)["scores"].items())
        click.echo(f"{path}: {scores}; {time.perf_counter() - begin:.0f} s")
