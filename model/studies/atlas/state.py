"""What a build has so far, on the disk: it goes on from there when it was stopped, and ends with the same bytes."""
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from model.core import files
from model.core.query import Kind, UserError
from model.studies.atlas.summary import Sample, Strongest, Summary, Text
from model.studies.corpus import Averages
from model.studies.syntax.counts import Counts

PART = "atlas.part"        # its name in the folder
LOCK = "atlas.lock"        # the system releases it when the build ends, however it ends
AVERAGED = ("count", "mean", "squares")
OF_ALL = ("low", "high", "histogram")
COUNTED = ("texts", "tokens", "cut")
SYNTAX = ("n", "right", "near", "possible")
SYNTAX_COUNTED = ("sentences", "not_found", "too_long", "unplaced")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within the block no other build writes into the folder, which is there. Raises UserError where one does now, and
    where the folder may not be written to."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise UserError(f"Another build is writing into {folder}; wait until it has ended, or choose another "
                        f"--out.") from error
    except OSError as error:
        raise files.unwritable(folder / LOCK, error) from error
    try:
        yield
    finally:
        with suppress(OSError):   # Windows removes no file that is open
            (folder / LOCK).unlink(missing_ok=True)
        lock.release()


def save(place: Path, made_of: Mapping[str, Any], summary: Summary) -> None:
    """Writes the summary of the corpus' first texts. Raises UserError where that cannot be."""
    arrays: dict[str, Any] = _arrays(summary)
    with files.writing(place) as file:
        np.savez(file, about=np.frombuffer(json.dumps(_about(made_of, summary)).encode("ascii"), np.uint8), **arrays)


def load(place: Path, made_of: Mapping[str, Any]) -> Summary | None:
    """The summary of an earlier run; None where there is none. Raises UserError where it is of another corpus, model or
    version, or damaged."""
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as saved:
            about = json.loads(saved["about"].tobytes())
            if about["made_of"] != made_of:
                raise UserError(f"{place} is of another corpus or model, or of other versions; delete it, or choose "
                                f"another --out.")
            return _summary(about, saved)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile,
            RecursionError) as error:
        raise UserError(f"{place} is not what an earlier run left there; delete it, or choose another "
                        f"--out.") from error


def _arrays(summary: Summary) -> dict[str, np.ndarray]:
    arrays = {name: getattr(summary, name) for name in OF_ALL}
    arrays |= {f"averages.{name}": getattr(summary.averages, name) for name in AVERAGED}
    for part in ("strongest", "sample"):
        found = getattr(summary, part)
        arrays |= {f"{part}.{each.name}": getattr(found, each.name) for each in fields(found)}
    if summary.syntax is not None:
        arrays |= {f"syntax.{name}": getattr(summary.syntax, name) for name in SYNTAX}
    return arrays


def _about(made_of: Mapping[str, Any], summary: Summary) -> dict[str, Any]:
    averages = summary.averages
    return {"made_of": dict(made_of), "kind": averages.kind.value, "heads": averages.heads, "names": averages.names,
            "title": summary.title, "statuses": sorted(summary.statuses),
            "kept": [asdict(each) for each in summary.texts.values()],
            "syntax": _about_syntax(summary.syntax), **{name: getattr(averages, name) for name in COUNTED}}


def _about_syntax(counts: Counts | None) -> dict[str, Any] | None:
    return None if counts is None else {name: getattr(counts, name) for name in ("names", "heads", *SYNTAX_COUNTED)}


def _syntax(about: dict[str, Any] | None, saved: Mapping[str, np.ndarray]) -> Counts | None:
    if about is None:
        return None
    n, right, near, possible = (saved[f"syntax.{name}"] for name in SYNTAX)
    return Counts(tuple(about["names"]), tuple((layer, head) for layer, head in about["heads"]), n, right, near,
                  possible, **{name: about[name] for name in SYNTAX_COUNTED})


def _summary(about: dict[str, Any], saved: Mapping[str, np.ndarray]) -> Summary:
    count, mean, squares = (saved[f"averages.{name}"] for name in AVERAGED)
    averages = Averages(Kind(about["kind"]), tuple((layer, head) for layer, head in about["heads"]),
                        tuple(about["names"]), count, mean, squares, **{name: about[name] for name in COUNTED})
    low, high, histogram = (saved[name] for name in OF_ALL)
    strongest = Strongest(**{each.name: saved[f"strongest.{each.name}"] for each in fields(Strongest)})
    sample = Sample(**{each.name: saved[f"sample.{each.name}"] for each in fields(Sample)})
    texts = [Text(**each | {name: tuple(each[name]) for name in ("tokens", "keys")}) for each in about["kept"]]
    return Summary(averages, low, high, histogram, strongest, sample, {each.number: each for each in texts},
                   about["title"], frozenset(about["statuses"]), _syntax(about["syntax"], saved))
