"""Replicate known circuits on the available models: `python -m benchmarks.mechanisms [MODEL ...] [--page FILE]`.

Prints the findings of `model/studies/known_circuits.py`, each with its interval and a baseline or control, and the
largest errors and durations of the two identities. Uses shipped findings (`python -m tools.shipped mechanisms`)
unless --again is given. Runs in one thread.
"""
import argparse
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import Query, UserError, head_label, quiet
from clearhead.model.core.record import Layer
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies.circuits import WhyQuery
from clearhead.model.studies.contributions import AddsQuery, CosineQuery, LensQuery, WritesQuery
from clearhead.model.studies.known_circuits import MODELS, KnownCircuitsQuery
from clearhead.model.studies.mechanisms import MechanismsQuery

SENTENCE = "The animal didn't cross the street because it was too tired."
OTHER = "A dog slept beside the road."
COMPOSED = ("minilm", "smollm2", "induction")
IDENTITIES = ("minilm", "smollm2", "induction", "stories", "resolver-narrow", "resolver-wide", "translator", "scratch")
FAMILIES = ("bert", "roberta", "distilbert", "gpt2", "llama", "mistral", "gemma2", "t5", "bart", "marian")   # tiny ones
CELLS, PLACES = 40, 4   # numbers of random cells and of last positions for measuring errors
LENGTHS = (64, 256)
ABOUT = """\
*Found*: the measured value, with its whole interval where there is one, is beyond chance or the control. *patched* is
the head that patching names for a small model's answer and *written* the head that attribution names; where the two
differ, neither counts as found, and the page shows both. *effect* is a median: one head, 16·0, decides the mean, whose
verdict depended on the seed. The median was chosen after both had been seen. Intervals are over random sequences, or
over the twelve templates of the sentences; *agree* and *effect* are compared with 95% of the values when whole layers
are exchanged at random.
"""


def table(model: str, again: bool) -> Iterator[str]:
    """Yield the rows of one model's findings."""
    asked = KnownCircuitsQuery(model, sources.revision(model))
    known = None if again else desk.measured_before(asked)
    for finding in (known or asked.answer(desk.models, quiet)).findings:
        heads = ", ".join(head_label(*head) for head in finding.heads)
        interval = "" if np.isnan(finding.low) else f"{finding.low:.3f} to {finding.high:.3f}"
        chance = "" if np.isnan(finding.chance) else f"{finding.chance:.3f}"
        yield (f"| {model} | {finding.name} | {heads} | {finding.value:.3f} | {interval} | {chance} | "
               f"{'yes' if finding.holds else 'no'} |")


def compositions(again: bool) -> Iterator[str]:
    """Yield the rows of each model's composing pairs, observed and by chance."""
    for model in COMPOSED:
        asked = MechanismsQuery(model, sources.revision(model))
        known = None if again else desk.measured_before(asked)
        found = known or asked.answer(desk.models, quiet)
        for kind, null in found.null.items():
            pairs = int(np.isfinite(found.composition[kind]).sum())
            yield (f"| {model} | {kind} | {pairs:,} | {null.mean:.3f} | {null.high:.3f} | {null.chance:.1%} | "
                   f"{found.share(kind):.1%} |")


def errors(query: Query) -> tuple[float, float]:
    """Return the largest error in decomposing scores of random cells, and logits at the last PLACES positions, or the
    cosine with OTHER without an unembedding (NaN without a sentence vector)."""
    record, rng, worst = desk.models.record(query, quiet), np.random.default_rng(1), 0.0
    for _ in range(CELLS):
        attention_map = record.maps[int(rng.integers(len(record.maps)))]
        layer = attention_map.layers[int(rng.integers(len(attention_map.layers)))]
        assert isinstance(layer, Layer)
        head, looking, looked_at = (int(rng.integers(size)) for size in layer.shape)
        try:
            found = WhyQuery(query, attention_map.kind, layer.index, head, looking, looked_at).answer(
                desk.models, quiet)
        except UserError:   # a masked cell
            continue
        worst = max(worst, abs(found.score - found.total))
    if desk.models.trace(query, quiet).unembedding is None:
        if getattr(record.prediction, "vector", None) is None:
            return worst, float("nan")
        cosine = CosineQuery(query, replace(query, text=OTHER)).answer(desk.models, quiet)
        return worst, abs(cosine.total - cosine.difference)
    parts = [WritesQuery(query, position, 7, 12).answer(desk.models, quiet)
             for position in range(len(record.maps[-1].queries))[-PLACES:]]
    return worst, max(abs(part.total - part.difference) for part in parts)


def queries() -> Iterator[tuple[str, Query]]:
    """Yield (name, query) for the models in IDENTITIES and for tiny random models of FAMILIES."""
    from tests.model import tiny

    for model in IDENTITIES:
        yield model, sources.open_query(model, SENTENCE)
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            place = tiny.save(Path(folder) / family, family)
            target = "a cat" if family in ("t5", "bart", "marian") else None
            yield f"{family}, tiny", sources.open_query(str(place), "a cat sat on mat because it was too tired",
                                                        target=target)


def seconds(length: int) -> Iterator[str]:
    """Yield table rows with the seconds of each answer by SmolLM2 for a text of `length` tokens."""
    text = " ".join(["the cat sat on the mat and"] * length)
    opened = desk.models.open(sources.open_query("smollm2", text[:20]), quiet)
    ids = opened.tokenizer(text)["input_ids"][:length]
    query = sources.open_query("smollm2", opened.tokenizer.decode(ids))
    record = desk.models.record(query, quiet)
    kind, last = record.kinds[0], len(record.maps[0].queries) - 1
    desk.models.trace(query, quiet)
    questions: dict[str, WhyQuery | WritesQuery | AddsQuery | LensQuery] = {
        "why": WhyQuery(query, kind, 20, 3, last, last // 2), "writes": WritesQuery(query, last, 7),
        "adds": AddsQuery(query, kind, 20, 3, last), "lens": LensQuery(query, last)}
    for name, question in questions.items():
        begun = time.perf_counter()
        question.answer(desk.models, quiet)
        yield f"| {name} | {last + 1} | {time.perf_counter() - begun:.2f} |"


def main() -> None:
    """Print the tables, and write them to a page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--again", action="store_true", help="measure what ships")
    parser.add_argument("--page", type=Path, help="a Markdown file for the tables")
    asked = parser.parse_args()
    lines = ["# Circuits", "", f"`python -m benchmarks.mechanisms`, {date.today().isoformat()}, one thread, "
             f"{platform.system()}, Python {platform.python_version()}.", "", ABOUT,
             "| model | finding | heads | measured | 95% interval | chance or control | found |",
             "|---|---|---|---:|---:|---:|---|"]

    def say(new: Iterator[str] | list[str]) -> None:
        for line in new:
            print(line, flush=True)
            lines.append(line)

    with one_thread():
        for model in asked.models:
            say(table(model, asked.again))
        say(["", "Pairs of heads that compose more than the limit, which all but the share *by chance* of the model's "
             "pairs in the impossible order (a later head read by an earlier one) stay below:", "",
             "| model | read with | pairs | mean of impossible pairs | limit | by chance | observed |",
             "|---|---|---:|---:|---:|---:|---:|"])
        say(compositions(asked.again))
        say(["", "Largest errors of the two identities:", "", "| model | score | logit or cosine |", "|---|---:|---:|"])
        for name, query in queries():
            score, logit = errors(query)
            say([f"| {name} | {score:.0e} | {'' if np.isnan(logit) else f'{logit:.0e}'} |"])
        say(["", "Seconds on SmolLM2, its record and trace at hand:", ""])
        say(["| answer | tokens | seconds |", "|---|---:|---:|"])
        for length in LENGTHS:
            say(seconds(length))
    if asked.page:
        write_file(asked.page, ("\n".join(lines) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
