"""A claim and its measurement as plain values and as words: what the command prints, and what the page shows."""
import math
from dataclasses import asdict
from typing import Any

from model.studies.claims.catalogue import Row
from model.studies.claims.claim import Finding, Measurement
from model.studies.claims.definitions import FEWEST
from model.studies.claims.verdicts import Judged, Verdict, judge
from model.studies.claims.verdicts import reason as reason_of
from model.studies.claims.words import papers, words

HOME = "Clearhead"


def verdict_in_words(judged: Judged) -> str:
    """The verdict, and the number that decides it."""
    return f"{words()['verdicts'][judged.verdict]}: {because(judged)}"


def because(judged: Judged) -> str:
    """Why a claim holds here or does not, or why it cannot be tested."""
    said, found = words(), judged.finding
    about = said["findings"][found.name]
    return said["reasons"][judged.reason].format(what=about["what"], baseline=about["baseline"], n=found.n,
                                                 counted=said["counted"][found.counted], fewest=FEWEST)


def missing(row: Row) -> str:
    """Why a claim without a model cannot be tested."""
    return words()["reasons"]["missing"].format(models=", ".join(row.missing))


def fetching(row: Row) -> str:
    """The command that brings the first of the missing models."""
    return f"python -m model fetch {row.missing[0]}"


def as_object(row: Row, revision: str | None, measured: Measurement | None, error: str = "") -> dict[str, Any]:
    """A row as JSON has it: claim, sentence, source (BibTeX), there, here, model, revision, findings, verdict, because,
    fetch, picture and measurement (BibTeX). What does not exist is null. error: why the model could not be asked."""
    said = words()["claims"][row.claim.name]
    judged = judge(measured.findings) if measured is not None else None
    if judged is not None:
        verdict, why = judged.verdict, because(judged)
    else:
        verdict, why = Verdict.UNTESTED, error or missing(row)
    return {"claim": row.claim.name, "sentence": said["sentence"], "source": papers()[row.claim.paper],
            "there": said["there"], "here": said["here"], "model": row.model or None, "revision": revision,
            "findings": [] if measured is None else [_finding(found) for found in measured.findings],
            "verdict": words()["verdicts"][verdict], "because": why,
            "fetch": fetching(row) if row.missing else None,
            "picture": None if measured is None else asdict(measured.picture),
            "measurement": None if measured is None or revision is None else bibtex(row, revision)}


def _finding(found: Finding) -> dict[str, Any]:
    numbers = {name: getattr(found, name) for name in ("effect", "baseline", "best", "luck")}
    shown = {name: value if value is not None and math.isfinite(value) else None for name, value in numbers.items()}
    interval = [found.low, found.high] if math.isfinite(found.low) and math.isfinite(found.high) else None
    return {"name": found.name, "what": words()["findings"][found.name]["what"], **shown, "interval": interval,
            "unit": found.unit, "n": found.n, "counted": found.counted, "heads": [list(head) for head in found.heads],
            "reason": str(reason_of(found))}


def bibtex(row: Row, revision: str) -> str:
    """A measurement as a BibTeX entry: whoever has the model's revision can repeat it by the command."""
    said = words()["claims"][row.claim.name]["sentence"].rstrip(".")
    return "\n".join([f"@misc{{clearhead-{row.claim.name}-{row.model},",
                      f"  title = {{{said}: measured on {row.model}}},",
                      f"  author = {{{{{HOME}}}}},",
                      f"  note = {{Model {row.model}, revision {revision}; the claim is that of {row.claim.paper}}},",
                      f"  howpublished = {{\\texttt{{python -m model claims --only {row.claim.name} --json}}}}", "}"])
