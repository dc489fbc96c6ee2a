"""Compute the shipped results, which take minutes: `python -m tools.shipped [NAME ...]`, by default all of NAMES.

Writes one file per query to assets/results (see model/ask/shipped.py) and, for `records`, to assets/records. Runs in
one thread.
"""
import json
import os
import platform
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from clearhead.model import sources
from clearhead.model.ask import desk, kept, shipped
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import UserError, quiet
from clearhead.model.core.record_file import pack, plain
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies.atlas.files import write_atlas
from clearhead.model.studies.atlas.summary import Atlas


def there() -> list[str]:
    """Return the ids of the catalogue's models that are on this disk."""
    return [offer.id for offer in sources.catalogue().values() if offer.on_disk]


def claims() -> Iterator[Any]:
    """Yield the query of every claim on each of its models, small models first."""
    from clearhead.model.studies.claims.catalogue import ClaimQuery, rows

    found = [row for row in rows(there()) if row.model]
    for row in sorted(found, key=lambda row: row.model == "smollm2"):
        yield ClaimQuery(row.claim.name, row.model, sources.revision(row.model))


def coreference() -> Iterator[Any]:
    """Yield the queries of the shipped cases on the first page's model."""
    from clearhead.model.studies.coreference import CasesQuery, shipped_cases

    for name in ("coreference", "agreement"):
        yield CasesQuery("minilm", sources.revision("minilm"), shipped_cases(name))


def syntax() -> Iterator[Any]:
    """Yield the query of the shipped treebank on the first page's model."""
    from clearhead.model.studies.syntax import SyntaxQuery, shipped_treebank

    yield SyntaxQuery("minilm", sources.revision("minilm"), shipped_treebank("en"))


def induction() -> Iterator[Any]:
    """Yield the induction queries of the available decoders."""
    from clearhead.model.studies.induction import InductionMeanQuery

    for model in ("induction", "smollm2"):
        if model in there():
            yield InductionMeanQuery(model, sources.revision(model))


def atlas() -> Iterator[Any]:
    """Yield the atlas query of the shipped sentences on the first page's model."""
    from clearhead.model.studies.atlas.build import AtlasQuery

    yield AtlasQuery("minilm", sources.revision("minilm"))


def faithfulness() -> Iterator[Any]:
    """Yield the attribution queries of the page's sentences on the first page's model."""
    from clearhead.model.studies.faithfulness import AttributionsQuery

    yield AttributionsQuery("minilm", sources.revision("minilm"), "vector", "sentences")


def cost() -> Iterator[Any]:
    """Yield the cost query of a layer for each width in the lesson."""
    from clearhead.model.lessons.cost import CostsQuery
    from clearhead.viz.pages.lessons.cost import WIDTHS

    for width in WIDTHS:
        yield CostsQuery(width)


def mechanisms() -> Iterator[Any]:
    """Yield the mechanism queries of some models, and the queries of known circuits."""
    from clearhead.model.studies.known_circuits import MODELS, KnownCircuitsQuery
    from clearhead.model.studies.mechanisms import MechanismsQuery

    for model in ("minilm", "induction", "smollm2"):
        if model in there():
            yield MechanismsQuery(model, sources.revision(model))
    for model in MODELS:
        if model in there():
            yield KnownCircuitsQuery(model, sources.revision(model))


def seeing() -> Iterator[Any]:
    """Yield the query of the lesson on our vision–language model."""
    from clearhead.model.lessons.picture_answers import MODEL, PictureHeadsQuery

    yield PictureHeadsQuery(MODEL, sources.revision(MODEL))


def story() -> Iterator[Any]:
    """Yield the query of the sentence that the story shows without SmolLM2."""
    from clearhead.model.lessons.story import ShippedStoryQuery
    from clearhead.viz.style.text import strings

    text = strings("lessons/story")["widgets"]["default_smollm2"]
    yield ShippedStoryQuery("smollm2", sources.revision("smollm2"), text)


NAMES: dict[str, Callable[[], Iterator[Any]]] = {
    "claims": claims, "coreference": coreference, "syntax": syntax, "induction": induction, "atlas": atlas,
    "faithfulness": faithfulness, "cost": cost, "mechanisms": mechanisms, "seeing": seeing, "story": story}


def records() -> None:
    """Write the records of the first page's sentence and of its twin."""
    from clearhead.viz.app.examples import examples
    from clearhead.viz.app.state import State

    for old in kept.SHIPPED.glob(f"*{kept.SUFFIX}"):
        old.unlink()
    example = examples()[0]
    for text in filter(None, (example.text, example.twin)):
        query = sources.open_query(State().model, text)
        write_file(kept.SHIPPED / kept.name_of(query), pack(desk.models.record(query, quiet), kept.made_of(query)))


def save(question: Any, answer: object, seconds: float, day: str, machine: str) -> Path:
    """Write an answer to the file that `model.ask.shipped.find` reads. Arrays become bytes in base 64."""
    place, about = shipped.path_of(question), answer
    place.parent.mkdir(exist_ok=True)
    if isinstance(answer, Atlas):
        place.with_suffix("").mkdir(exist_ok=True)
        write_atlas(place.with_suffix(""), answer, {"command": shipped.COMMAND})
        about = None
    said = plain(about, lambda array: {"dtype": array.dtype.str, "shape": list(array.shape),
                                       "bytes": b64encode(array.tobytes()).decode()})
    if isinstance(said, dict) and getattr(answer, "query", None) == question:
        said["query"] = shipped.ASKED
    told = {"question": type(question).__name__, "model": getattr(question, "model", None),
            "revision": getattr(question, "revision", None), "measured": day, "machine": machine,
            "command": shipped.COMMAND, "seconds": round(seconds, 1), "answer": said}
    write_file(place, (json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8"))
    return place


def main(names: list[str]) -> None:
    """Compute the named results."""
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
                    answer = question.answer(desk.models, quiet)
                except UserError as error:
                    print(f"{name} {question.model}: {error}", flush=True)
                    continue
                path = save(question, answer, time.perf_counter() - begun, date.today().isoformat(), machine)
                print(f"{path.name} {time.perf_counter() - begun:.0f} s, {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
