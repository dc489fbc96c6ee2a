"""What the walk over the families found, as text: the totals beside the bars, and the table that the README links."""
from collections import Counter

INTRODUCTION = """# Families

Written by `python -m benchmarks.families`. Each text model type of transformers is built small, with random weights
under which a wrong picture would show, and put through Clearhead as any model is.

- *verified*: recomputed from queries, keys and values; equal to the model's own eager weights and to the outputs that
  it really produced, and every planted fault that applies was caught at load and on an answer.
- *reported*: the weights that the model itself reports, checked as far as that goes, and marked so.
- *refused*: nothing is shown, with the reason. *not built*: stock transformers could not run it here. *wrong*: must
  not be.

*Error* is the largest difference of any weight shown from those of a fresh copy of the model under eager attention.
"""


def summary(found: dict) -> str:
    """The totals and the bars that they have to pass."""
    totals, count = Counter(found["totals"]), len(found["families"])
    faults = Counter(name for each in found["families"] for name, caught in (each["faults_caught"] or {}).items()
                     if caught == "2/2")
    shown = totals["verified"] + totals["reported"]
    share = lambda part: f"{part} of {count} ({part / count:.0%})"
    return "\n".join([
        f"wrong: {totals['wrong']} (bar: 0)",
        f"verified or reported: {share(shown)} (bar: 90%)",
        f"verified: {share(totals['verified'])} (bar: 75%)",
        f"refused: {share(totals['refused'])}",
        f"not built: {share(totals['not built'])} (bar: at most 5%)",
        "planted faults caught, by how many families: "
        + ", ".join(f"{name} {times}" for name, times in faults.items())])


def table(found: dict) -> str:
    """The whole page, in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    rows = ["| type | status | error | attention seen | faults caught | reason |",
            "| --- | --- | --- | --- | --- | --- |"]
    rows += [_row(each) for each in found["families"]]
    parts = [INTRODUCTION, f"{versions}, Python {found['machine']['python']}.\n",
             *(f"- {line}" for line in summary(found).splitlines()), "", *rows]
    traces = [each for each in found["families"] if each["trace"]]
    if traces:
        parts += ["", "## Not built", *(f"\n`{each['type']}`\n\n```\n{each['trace']}\n```" for each in traces)]
    parts += ["", "## Not counted", "",
              *(f"- `{model_type}`: {reason}" for model_type, reason in found["excluded"].items())]
    return "\n".join(parts) + "\n"


def _row(family: dict) -> str:
    error = "" if family["max_error"] is None else f"{family['max_error']:.0e}"
    faults = ", ".join(f"{name} {caught}" for name, caught in (family["faults_caught"] or {}).items())
    cells = [f"`{family['type']}`", family["status"], error, "; ".join(family["kinds"]), faults, family["reason"]]
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"
