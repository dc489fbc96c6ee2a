"""Measure what takes minutes and is shipped: `python -m benchmarks.shipped [NAME ...]`, by default all of NAMES.

Writes assets/results, a file a question (model/ask/shipped.py), and for `records` assets/records. One thread. """
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from typing import Any

from model.ask import kept, shipped, sources
from model.core.files import write as write_file
from model.core.limits import one_thread
from model.core.query import UserError, quiet


def there() -> list[str]:
    """Return the models of the catalogue that are on this disk."""
    return [offer.id for offer in sources.catalogue() if offer.on_disk]


def claims() -> Iterator[Any]:
    """Yield every claim on each of its models, the small models first."""
    from model.studies.claims.catalogue import ClaimQuery, rows

    found = [row for row in rows(there()) if row.model]
    for row in sorted(found, key=lambda row: row.model == "smollm2"):
        yield ClaimQuery(row.claim.name, row.model, sources.revision(row.model))


def coreference() -> Iterator[Any]:
    """Yield the shipped sentences on the first page's model."""
    from model.studies.coreference import CasesQuery, shipped_cases

    for name in ("coreference", "agreement"):
        yield CasesQuery("minilm", sources.revision("minilm"), shipped_cases(name))


def syntax() -> Iterator[Any]:
    """Yield the shipped treebank on the first page's model."""
    from model.studies.syntax import SyntaxQuery, shipped_treebank

    yield SyntaxQuery("minilm", sources.revision("minilm"), shipped_treebank("en"))


def induction() -> Iterator[Any]:
    """Yield how the heads of the decoders here look at repeated tokens."""
    from model.studies.induction import InductionMeanQuery

    for model in ("induction", "smollm2"):
        if model in there():
            yield InductionMeanQuery(model, sources.revision(model))


def atlas() -> Iterator[Any]:
    """Yield the shipped sentences on the first page's model."""
    from model.studies.atlas.build import AtlasQuery

    yield AtlasQuery("minilm", sources.revision("minilm"))


def faithfulness() -> Iterator[Any]:
    """The sentences of the page on the first page's model."""
    from model.studies.faithfulness import AttributionsQuery

    yield AttributionsQuery("minilm", sources.revision("minilm"), "vector", "sentences")


def cost() -> Iterator[Any]:
    """A layer of each width that the lesson offers."""
    from model.lessons.cost import CostsQuery
    from viz.pages.cost import WIDTHS

    for width in WIDTHS:
        yield CostsQuery(width)


def mechanisms() -> Iterator[Any]:
    """Yield what heads are made to do in three models, and the known circuits."""
    from model.studies.known_circuits import MODELS, KnownCircuitsQuery
    from model.studies.mechanisms import MechanismsQuery

    for model in ("minilm", "induction", "smollm2"):
        if model in there():
            yield MechanismsQuery(model, sources.revision(model))
    for model in MODELS:
        if model in there():
            yield KnownCircuitsQuery(model, sources.revision(model))


NAMES: dict[str, Callable[[], Iterator[Any]]] = {
    "claims": claims, "coreference": coreference, "syntax": syntax, "induction": induction, "atlas": atlas,
    "faithfulness": faithfulness, "cost": cost, "mechanisms": mechanisms}


def records() -> None:
    """The records of the first page's sentence and of its twin, which that page compares it with."""
    from viz.examples import examples
    from viz.state import State

    for old in kept.SHIPPED.glob(f"*{kept.SUFFIX}"):
        old.unlink()
    example = examples()[0]
    for text in filter(None, (example.text, example.twin)):
        query = sources.open_query(State().model, text)
        write_file(kept.SHIPPED / kept.name_of(query), kept.encode(sources.models.record(query, quiet)))


def main(names: list[str]) -> None:
    """Measure what is named."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    machine = (f"one thread on {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
               f"{packages}")
    with one_thread():
        for name in names or ["records", *NAMES]:
            if name == "records":
                records()
                continue
            for question in NAMES[name]():
                begun = time.perf_counter()
                try:
                    answer = question.answer(sources.models, quiet)
                except UserError as error:
                    print(f"{name} {question.model}: {error}", flush=True)
                    continue
                path = shipped.save(question, answer, time.perf_counter() - begun, date.today().isoformat(), machine)
                print(f"{path.name} {time.perf_counter() - begun:.0f} s, {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
