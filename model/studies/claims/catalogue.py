"""The list of claims, and the query that tests a claim on a model."""
import functools
import re
import tomllib
from collections.abc import Collection, Iterator
from typing import Any

from clearhead.model.core.files import ASSETS
from clearhead.model.core.models import Models
from clearhead.model.core.query import Progress, frozen
from clearhead.model.core.record_file import plain
from clearhead.model.studies.claims import measured
from clearhead.model.studies.claims.claim import FEWEST, Claim, Finding, Judged, Measurement, Verdict, judge

WORDS, PAPERS = ASSETS / "text" / "en" / "claims.toml", ASSETS / "claims" / "papers.bib"


@functools.cache
def words() -> dict[str, Any]:
    """Return the wording of claims: descriptions, and templates for verdicts and numbers."""
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


@functools.cache
def papers() -> dict[str, str]:
    """Return {citation key: BibTeX entry}."""
    entries = re.split(r"\n(?=@)", PAPERS.read_text(encoding="utf-8").strip())
    return {re.match(r"@\w+\{([^,]+),", entry)[1]: entry.strip() for entry in entries}   # type: ignore[index]


def field(entry: str, name: str) -> str:
    """Return a field of a BibTeX entry without braces, or "" if it is missing."""
    found = re.search(rf"^\s*{name} = \{{(.*)\}},?$", entry, re.MULTILINE)
    return re.sub(r"[{}]", "", found[1]) if found else ""


def short_source(key: str) -> str:
    """Return a short citation, such as "Clark et al. 2019"."""
    names = [author.split(",")[0] for author in field(papers()[key], "author").split(" and ")]
    who = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who} {field(papers()[key], 'year')}"


CLAIMS = (
    Claim("pronoun", "clark2019", ("minilm", "bert"), measured.pronoun, slow=True),
    Claim("previous", "clark2019", ("minilm", "smollm2", "bert"), measured.neighbour("previous", -1)),
    Claim("next", "clark2019", ("minilm", "bert"), measured.neighbour("next", 1)),
    Claim("special", "clark2019", ("minilm", "bert"), measured.by_depth("special", "share")),
    Claim("breadth", "clark2019", ("minilm", "bert"), measured.by_depth("entropy", "bits", way=-1)),
    Claim("objects", "clark2019", ("minilm", "bert"), measured.relation("obj"), slow=True),
    Claim("determiners", "clark2019", ("minilm", "bert"), measured.relation("det"), slow=True),
    Claim("subjects", "clark2019", ("minilm", "bert"), measured.relation("nsubj"), slow=True),
    Claim("distance", "vig2019", ("smollm2", "minilm", "gpt2"), measured.by_depth("distance", "tokens")),
    Claim("mixing", "kobayashi2021", ("minilm", "bert"), measured.mixing),
    Claim("explanation", "jain2019", ("minilm",), measured.not_explanation, slow=True),
    Claim("induction", "olsson2022", ("smollm2", "gpt2"), measured.induction_heads, slow=True),
    Claim("induction_loss", "olsson2022", ("induction",), measured.induction_loss, slow=True),
    Claim("sink", "xiao2024", ("smollm2", "gpt2"), measured.first_token),
    Claim("window", "xiao2024", ("smollm2", "gpt2"), measured.window, slow=True),
    Claim("figure_ground", "caron2021", ("dinov2-small",), measured.figure_and_ground),
    Claim("massive", "sun2024", ("smollm2", "gpt2"), measured.massive, slow=True),
)
BY_NAME = {claim.name: claim for claim in CLAIMS}


@frozen
class ClaimQuery:
    """A claim tested on one model."""

    claim: str      # name of the claim, a key of BY_NAME
    model: str      # model id
    revision: str   # model revision

    def answer(self, models: Models, report: Progress) -> Measurement:
        """Measure the claim. Raises UserError if the model cannot be tested."""
        return BY_NAME[self.claim].measure(self, models, report)


@frozen
class Row:
    """A claim with a model to test it on, or with the models to download if none is available."""

    claim: Claim
    model: str                      # name in the catalogue; "" if no suitable model is on disk
    missing: tuple[str, ...] = ()   # names of suitable models if none is on disk


def rows(on_disk: Collection[str]) -> Iterator[Row]:
    """Yield every claim with each of its models that is on disk, or once without a model."""
    for claim in CLAIMS:
        there = [model for model in claim.models if model in on_disk]
        yield from (Row(claim, model) for model in there)
        if not there:
            yield Row(claim, "", claim.models)


HOME = "Clearhead"


def because(judged: Judged) -> str:
    """Return a sentence on why a claim holds here, does not hold, or cannot be tested."""
    said, found = words(), judged.finding
    about = said["findings"][found.name]
    return said["reasons"][judged.reason].format(what=about["what"], baseline=about["baseline"], n=found.n,
                                                 counted=said["counted"][found.counted], fewest=FEWEST)


def numbers_in_words(found: Finding) -> str:
    """Describe a finding: its value with the interval, the baseline and the null distribution."""
    said = words()
    luck = "" if found.luck is None else said["numbers_luck"].format(luck=f"{found.luck:z.3f}",
                                                                    best=f"{found.best:z.3f}")
    interval = said["interval"].format(low=f"{found.low:z.3f}", high=f"{found.high:z.3f}")
    return f"{said['findings'][found.name]['what']}: " + said["numbers"].format(
        effect=f"{found.effect:z.3f}", unit=said["units"][found.unit], interval=interval,
        baseline=f"{found.baseline:z.3f}", luck=luck, n=found.n, counted=said["counted"][found.counted])


def missing(row: Row) -> str:
    """Return a sentence naming the models of which one must be downloaded."""
    return words()["reasons"]["missing"].format(models=", ".join(row.missing))


def fetching(row: Row) -> str:
    """Return the command that downloads the row's model or its first missing one."""
    return f"python -m clearhead fetch {row.missing[0] if row.missing else row.model}"


def as_object(row: Row, revision: str | None, measured: Measurement | None, error: str = "") -> dict[str, object]:
    """Return a row as a JSON object with claim, sentence, source (BibTeX), there, here, model, revision, findings,
    verdict, because, fetch, picture and measurement (BibTeX). Missing values are null. error: why the model could not
    be tested."""
    said = words()["claims"][row.claim.name]
    verdict, why = Verdict.UNTESTED, error or missing(row)
    if measured is not None:
        judged = judge(measured.findings)
        verdict, why = judged.verdict, because(judged)
    return {"claim": row.claim.name, "sentence": said["sentence"], "source": papers()[row.claim.paper],
            "there": said["there"], "here": said["here"], "model": row.model or None, "revision": revision,
            "findings": [] if measured is None else plain(measured.findings),
            "verdict": words()["verdicts"][verdict], "because": why,
            "fetch": fetching(row) if row.missing else None,
            "picture": measured and plain(measured.picture),
            "measurement": None if measured is None or revision is None else bibtex(row, revision)}


def bibtex(row: Row, revision: str) -> str:
    """Return a BibTeX entry for a measurement, with the command that reproduces it."""
    said = words()["claims"][row.claim.name]["sentence"].rstrip(".")
    return "\n".join([f"@misc{{clearhead-{row.claim.name}-{row.model},",
                      f"  title = {{{said}: measured on {row.model}}},",
                      f"  author = {{{{{HOME}}}}},",
                      f"  note = {{Model {row.model}, revision {revision}; the claim is that of {row.claim.paper}}},",
                      f"  howpublished = {{\\texttt{{clearhead claims --only {row.claim.name} --json}}}}", "}"])
