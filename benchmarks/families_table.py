"""Format the results of benchmarks.families: totals with acceptance criteria, and the table linked from the README."""
import datetime
from collections import Counter

HEADINGS = {"text": "# Families", "picture": "# Families of pictures"}   # headings of both halves of the page, in order
COUNTED = {
    "text": "Each text model type of transformers is built small, with random weights under which a wrong picture "
            "would show,\nand put through Clearhead as any model is.",
    "picture": "Each model type of transformers that reads one picture and attends over its patches is built small,\n"
               "with random weights under which a wrong picture would show, and put through Clearhead as any model "
               "is."}
LEGEND = """

- *verified*: recomputed from queries, keys and values; equal to the model's own eager weights and to the outputs that
  it really produced, and every planted fault that applies was caught at load and on an answer.
- *reported*: the weights that the model itself reports, checked as far as that goes, and marked so.
- *refused*: nothing is shown, with the reason. *not built*: stock transformers could not run it here. *wrong*: must
  not be.

*Error* is the largest difference of any weight shown from those of a fresh copy of the model under eager attention.
*Complete* is the largest difference of the sum over heads of (shown factors × weights · value) W_O, and the bias, from
the attention module's output, relative to the largest number of that output; *no* above 1e-4.
"""


COMPLETE = 1e-4   # largest relative difference of a module's output from the sum over its heads
WINDOWS = "looks within windows"   # beginning of the reason for excluding and refusing some picture types


def summaries(found: dict) -> str:
    """Return the summaries of all tested inputs."""
    return "\n\n".join(f"{reads}\n{summary(found, reads)}" for reads in found["excluded"])


def families_of(found: dict, reads: str) -> list[dict]:
    """Return the outcomes of the families with this input."""
    return [each for each in found["families"] if each["input"] == reads]


def summary(found: dict, reads: str = "text") -> str:
    """Return the totals for one input with their acceptance criteria."""
    families = families_of(found, reads)
    totals, count = Counter(each["status"] for each in families), len(families)
    faults = Counter(name for each in families for name, caught in (each["faults_caught"] or {}).items()
                     if caught == "2/2")
    shown = totals["verified"] + totals["reported"]
    share = lambda part: f"{part} of {count} ({part / count:.0%})"
    return "\n".join([
        f"wrong: {totals['wrong']} (bar: 0)",
        f"verified or reported: {share(shown)} (bar: 90%)",
        f"verified: {share(totals['verified'])} (bar: 75%)",
        f"complete: {sum(_is_complete(each) for each in families)} of {totals['verified']} verified (bar: all)",
        f"refused: {share(totals['refused'])}",
        f"not built: {share(totals['not built'])} (bar: at most 5%)",
        "planted faults caught, by how many families: "
        + ", ".join(f"{name} {times}" for name, times in faults.items()),
        *_with_windows(found["excluded"][reads], totals, count)])


def _with_windows(excluded: dict[str, str], totals: Counter, count: int) -> list[str]:
    """Return the number of types, and the shares if types with windowed attention counted as refused."""
    windows, known = sum(reason.startswith(WINDOWS) for reason in excluded.values()), count + len(excluded)
    lines = [f"not counted: {len(excluded)} of {known}, each with its reason below"]
    if windows:
        shown, every = totals["verified"] + totals["reported"], count + windows
        lines.append(f"with the {windows} that look within windows counted, as refused: verified or reported "
                     f"{shown} of {every} ({shown / every:.0%}), verified {totals['verified']} "
                     f"({totals['verified'] / every:.0%})")
    return lines


def joined(known: str, found: dict) -> str:
    """Replace the halves of the page for all tested inputs, and keep the others. known: the previous page."""
    halves = {reads: part for reads, part in _halves(known).items() if part}
    return "\n".join((halves | {reads: table(found, reads) for reads in found["excluded"]}).get(reads, "")
                     for reads in HEADINGS).strip() + "\n"


def _halves(page: str) -> dict[str, str]:
    text, mark, picture = page.partition(HEADINGS["picture"] + "\n")
    return {"text": text.rstrip() + "\n" if text.strip() else "", "picture": mark + picture}


def table(found: dict, reads: str = "text") -> str:
    """Format the half of the page for one input as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    families = families_of(found, reads)
    rows = ["| type | input | status | error | complete | attention seen | faults caught | reason |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    rows += [_row(each) for each in families]
    parts = [HEADINGS[reads], "", f"Written by `python -m benchmarks.families --input {reads}`.", COUNTED[reads],
             LEGEND, f"{versions}, Python {found['machine']['python']}; {datetime.date.today()}.\n",
             *(f"- {line}" for line in summary(found, reads).splitlines()), "", *rows]
    traces = [each for each in families if each["trace"]]
    if traces:
        parts += ["", "## Not built", *(f"\n`{each['type']}`\n\n```\n{each['trace']}\n```" for each in traces)]
    parts += ["", "## Not counted", "",
              *(f"- `{model_type}`: {reason}" for model_type, reason in found["excluded"][reads].items())]
    return "\n".join(parts) + "\n"


def _row(family: dict) -> str:
    error = "" if family["max_error"] is None else f"{family['max_error']:.0e}"
    faults = ", ".join(f"{name} {caught}" for name, caught in (family["faults_caught"] or {}).items())
    complete = "no" if family["status"] == "verified" else ""
    complete = f"{family['complete']:.0e}" if _is_complete(family) else complete
    cells = [f"`{family['type']}`", family["input"], family["status"], error, complete,
             "; ".join(family["kinds"]), faults, family["reason"]]
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def _is_complete(family: dict) -> bool:
    return family["status"] == "verified" and family["complete"] is not None and family["complete"] <= COMPLETE
