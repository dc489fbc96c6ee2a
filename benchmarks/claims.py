"""Which claims about attention heads hold here? `python -m benchmarks.claims [--json FILE] [--only CLAIM] [--again]`

Writes the page `benchmarks/claims.md` with every claim on every available model: as shipped (`python -m
tools.shipped claims`), or measured again in one thread.
"""
import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.tasks_table import table
from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.ask.desk import models
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import UserError, quiet
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies.claims.catalogue import ClaimQuery, Row, as_object, rows, short_source, words

PAGE = Path(__file__).with_name("claims.md")
INTRODUCTION = """# Which claims about attention heads hold here?

Written by `python -m benchmarks.claims`; `clearhead claims --json` gives the same rows as JSON. The page *Claims*
says for each row what the paper measured and what is measured here. *Effect* has a 95% interval, all of which must be
above the *baseline*. *Chance* is the 95th percentile of the best of as many random heads; the best head, in brackets,
must be above it. One rule (`model/studies/claims/claim.py`) derives the verdict from these numbers; a claim holds if
all its numbers do. A claim that does not hold here, on small models and our own sentences, is not refuted.
"""


def measured(row: Row, again: bool) -> dict:
    """Measure a row, unless its answer ships for this model. Return it as in `clearhead claims --json`, with a short
    citation and the duration in seconds."""
    begun, revision, answer, error = time.perf_counter(), sources.revision(row.model) if row.model else None, None, ""
    if revision is not None:
        question = ClaimQuery(row.claim.name, row.model, revision)
        known = desk.shipped(question)
        if known is not None and not (known.stale or again):
            answer, begun = known.answer, time.perf_counter() - known.seconds
        else:
            try:
                answer = question.answer(models, quiet)
            except UserError as refused:
                error = str(refused)
    found = as_object(row, revision, answer, error)
    return found | {"short_source": short_source(row.claim.paper), "seconds": time.perf_counter() - begun}


def lines(found: dict) -> list[list[str]]:
    """Return the table's lines for one row: one per finding, or one that says why there are none."""
    first = [f"{found['sentence']} ({found['short_source']})", found["model"] or "–"]
    verdict = f"**{found['verdict']}**"
    if not found["findings"]:
        return [[*first, verdict, found["because"], "–", "–", "–", "–"]]
    return [[*(first if number == 0 else ["", ""]), verdict if number == 0 else "", *numbers(each)]
            for number, each in enumerate(found["findings"])]


def numbers(finding: dict) -> list[str]:
    """Return the cells of one finding: name, effect (interval), baseline, null (best head), units."""
    def written(value: float | None) -> str:
        if value is None:
            return "–"
        share = finding["unit"] == "share"
        return (f"{value:z.1%}" if share else f"{value:z.3f}").replace("-", "−")

    unit = "" if finding["unit"] == "share" else f" {words()['units'][finding['unit']]}"
    ends = [finding["low"], finding["high"]]
    interval = "" if None in ends else f" ({' to '.join(map(written, ends))})"
    luck = "–" if finding["luck"] is None else f"{written(finding['luck'])} ({written(finding['best'])})"
    what = words()["findings"][finding["name"]]["what"]
    return [what, written(finding["effect"]) + interval + unit, written(finding["baseline"]), luck,
            f"{finding['n']} {words()['counted'][finding['counted']]}"]


def page(figures: dict) -> str:
    """Format the page as Markdown."""
    columns = ["claim", "model", "verdict", "number", "effect (interval)", "baseline", "chance (best head)", "over"]
    shown = [line for found in figures["rows"] for line in lines(found)]
    slowest = max(figures["rows"], key=lambda found: found["seconds"])
    return "\n".join([INTRODUCTION, f"{figures['machine']} {sum(each['seconds'] for each in figures['rows']):.0f} s in "
                      f"all, {slowest['seconds']:.0f} s the slowest row (“{slowest['sentence']}” on "
                      f"{slowest['model']}).\n", table(columns, shown)]) + "\n"


def main(arguments: Sequence[str] | None = None, target: Path = PAGE) -> None:
    """Measure every claim on the available models and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="only this claim; may be repeated")
    parser.add_argument("--again", action="store_true", help="measure what ships")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    given = parser.parse_args(arguments)
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    machine = (f"{date.today()}, one thread on {os.cpu_count()} cores, {platform.system()}, Python "
               f"{platform.python_version()}, {packages}.")
    there, found = {offer.id for offer in sources.catalogue().values() if offer.on_disk}, []
    with one_thread():
        for row in rows(there):
            if not given.only or row.claim.name in given.only:
                found.append(measured(row, given.again))
                print(f"{row.claim.name} {row.model}: {found[-1]['verdict']}, {found[-1]['seconds']:.0f} s", flush=True)
                figures = {"machine": machine, "rows": found}
                if given.json:
                    write_file(given.json, json.dumps(figures, indent=1, ensure_ascii=False).encode("utf-8"))
    write_file(target, page(figures).encode("utf-8"))


if __name__ == "__main__":
    main()
