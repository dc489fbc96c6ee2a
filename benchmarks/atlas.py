"""Measure the texts per second of an atlas build in one process, in several and on Ray, and of a plain forward loop.

    python -m benchmarks.atlas [--model minilm] [--texts 200] [--workers 2] [--json FILE]

The texts are the sentences shipped with the page *Atlas*, repeated. The plain loop only runs the model's own forward
pass, without capture, measures or verification. The first shard of each worker is not counted, because it includes
opening the model; its time is reported separately. The tables of all engines are compared byte by byte.
"""
import argparse
import datetime
import functools
import itertools
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from clearhead.model import sources
from clearhead.model.ask.desk import models
from clearhead.model.cli.atlas import open_worker
from clearhead.model.core.files import write as write_file
from clearhead.model.core.models import OpenModel
from clearhead.model.core.query import Query, quiet
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.studies.atlas.build import SHARD, SHIPPED, Corpus, CorpusText, ShardTask
from clearhead.model.studies.atlas.files import as_parquet
from clearhead.model.studies.atlas.summary import Summary, merge, tables_of
from clearhead.model.studies.atlas.workers import ENGINES, summaries


def shards_of(count: int, workers: int) -> list[tuple[CorpusText, ...]]:
    """Return full shards with at least `count` texts in total, after one warm-up shard per worker."""
    sentences = itertools.cycle(item.text for shard in Corpus((SHIPPED,)).shards() for item in shard)
    total = (workers + -(-count // SHARD)) * SHARD
    items = [CorpusText(number, SHIPPED.name, number + 1, next(sentences)) for number in range(total)]
    return [tuple(items[begin:begin + SHARD]) for begin in range(0, total, SHARD)]


def plain(opened: OpenModel, model: str, revision: str, texts: list[str]) -> float:
    """Measure the texts per second of the model's own forward pass, with torch's current number of threads."""
    questions = [opened.tokens(Query(model, revision, text)).tensors for text in texts]
    with torch.inference_mode():
        opened.network(**questions[0])
        begin = time.perf_counter()
        for tensors in questions:
            opened.network(**tensors)
    return len(texts) / (time.perf_counter() - begin)


def measured(make: Callable[[Iterator[Any]], Iterator[Summary]], shards: list[tuple[CorpusText, ...]],
             first: int) -> tuple[float, float, dict[str, bytes]]:
    """Return (seconds for the first `first` shards, texts per second for the others, tables as Parquet files)."""
    begin, total, started = time.perf_counter(), None, 0.0
    for done, summary in enumerate(make(iter(shards)), 1):
        total = summary if total is None else merge(total, summary)
        if done == first:
            started = time.perf_counter()
    assert total is not None
    speed = SHARD * (len(shards) - first) / (time.perf_counter() - started)
    return started - begin, speed, {name: as_parquet(table, {}) for name, table in tables_of(total).items()}


def compare(model: str, texts: int, workers: int) -> dict[str, Any]:
    """Measure every engine and the plain loop."""
    revision = sources.revision(model)
    task, shards = ShardTask(model, revision), shards_of(texts, workers)
    opened = models.open(task, quiet)
    sentences = [item.text for shard in shards for item in shard]
    found: dict[str, Any] = {"plain loop, all threads": {"texts_a_second": plain(opened, model, revision, sentences)}}
    with one_thread():
        found["plain loop, one thread"] = {"texts_a_second": plain(opened, model, revision, sentences)}
    tables = []
    for name in ENGINES:
        make = functools.partial(summaries, opener=open_worker, task=task, engine=name, workers=workers)
        started, speed, files = measured(make, shards, workers)
        found[name] = {"workers": 1 if name == "here" else workers, "first_shards_seconds": started,
                       "texts_a_second": speed}
        tables.append(files)
    found["equal_bytes"] = all(each == tables[0] for each in tables)
    return found


def _more(row: dict[str, Any]) -> str:
    if "workers" not in row:
        return ""
    return f"   workers: {row['workers']}, first shards after {row['first_shards_seconds']:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--texts", type=int, default=200, help="to be timed, at least")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="file that gets the numbers")
    options = parser.parse_args()
    found = compare(options.model, options.texts, options.workers)
    for name, row in found.items():
        if isinstance(row, dict):
            print(f"{name:<26}{row['texts_a_second']:8.1f} texts a second{_more(row)}")
    print(f"Parquet files of all engines are {'' if found['equal_bytes'] else 'NOT '}equal, byte by byte")
    if options.json:
        about = {"command": f"python -m benchmarks.atlas --model {options.model} --texts {options.texts} --workers "
                            f"{options.workers}", "machine": platform.machine(), "cores": os.cpu_count(),
                 "torch": torch.__version__, "date": datetime.date.today().isoformat()}
        write_file(options.json, (json.dumps(about | found, indent=1) + "\n").encode("utf-8"))


if __name__ == "__main__":
    main()
