"""Test Clearhead with every text and picture model family in transformers: `python -m benchmarks.families
[--input text|picture] [--json FILE] [TYPE ...]`.

For each type in the mappings for causal, masked and sequence-to-sequence language models, and for each type that reads
pictures, builds a small model with random weights, and opens, verifies and queries it like any other model. Every type
has its own process, in case of a crash or hang. Without types, tests all that are not excluded and writes the table
`benchmarks/families.md`; with --input, only that half of the table.
"""
import argparse
import functools
import importlib.metadata
import json
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing.connection import wait
from pathlib import Path

import psutil

from benchmarks import families_check, families_models, families_pictures, families_table
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import UserError

SECONDS = 120          # timeout for one family, which then counts as not built
MEMORY = 6 * 2**30     # maximum additional address space for one family, in bytes
MAPPINGS = {"text": families_models.mappings, "picture": families_pictures.mappings}
TABLE = Path(__file__).with_name("families.md")


def walk(types: list[str], tell: Callable[[families_check.Outcome, float], None],
         at_once: int = 2, reads: str = "text") -> list[families_check.Outcome]:
    """Test all these types and return the outcomes. tell: called with each outcome and its seconds. reads: "text" or
    "picture". Raises UserError on systems other than Linux."""
    if sys.platform != "linux":
        raise UserError("The walk over the families needs Linux, where a process can part in two and have its memory "
                        "bounded; run it there.")
    context = multiprocessing.get_context("fork")
    waiting, outcomes = list(reversed(types)), []
    running: dict[str, tuple] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            model_type = waiting.pop()
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(target=_one, args=(model_type, reads, writer), daemon=True)
            process.start()
            writer.close()
            running[model_type] = (process, reader, time.perf_counter())
        wait([reader for _, reader, _ in running.values()], timeout=1)
        for model_type, (process, reader, start) in list(running.items()):
            outcome = _received((model_type, reads), reader, start)
            if outcome is not None:
                running.pop(model_type)
                process.kill()
                process.join()
                outcomes.append(outcome)
                tell(outcome, time.perf_counter() - start)
    return sorted(outcomes, key=lambda each: each.type)


def _received(of: tuple[str, str], reader, start: float) -> families_check.Outcome | None:
    lost = functools.partial(families_check.Outcome, of[0], "not built", input=of[1])
    if reader.poll():
        try:
            return reader.recv()
        except EOFError:
            return lost("its process died")
    if time.perf_counter() - start > SECONDS:
        return lost(f"it took longer than {SECONDS} s")
    return None


def _one(model_type: str, reads: str, writer) -> None:
    import torch

    torch.set_num_threads(1)
    if sys.platform == "linux":
        import resource

        limit = psutil.Process().memory_info().vms + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    writer.send(families_check.check(model_type, reads))


def prepare() -> None:
    """Import common modules before processes are forked, which saves time for every family."""
    import warnings

    from clearhead.model.capture.forward_pass import register

    warnings.filterwarnings("ignore")
    register()
    from transformers.models.bart import modeling_bart  # noqa: F401
    from transformers.models.clip import image_processing_pil_clip  # noqa: F401
    from transformers.models.llama import modeling_llama  # noqa: F401
    from transformers.models.vit import modeling_vit  # noqa: F401


def line(outcome: families_check.Outcome, seconds: float) -> str:
    """Format one family's outcome for the terminal."""
    error = " ".join("" if each is None else f"{each:.0e}" for each in (outcome.max_error, outcome.complete))
    why = outcome.reason or ", ".join(outcome.faults_caught or {})
    return f"{outcome.type:26} {outcome.status:10} {seconds:5.1f} s  {error:12}  {why}"[:200]


def content(outcomes: list[families_check.Outcome]) -> dict:
    """Return the content of the JSON file."""
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    versions = {package: importlib.metadata.version(package) for package in ("torch", "transformers", "numpy")}
    return {"machine": machine, "versions": versions, "totals": dict(Counter(each.status for each in outcomes)),
            "excluded": {reads: families_models.excluded(reads)
                         for reads in dict.fromkeys(each.input for each in outcomes)},
            "families": [asdict(each) for each in outcomes]}


def counted(reads: str, wanted: list[str]) -> list[str]:
    """Return the requested types with this input, or without a request all that are not excluded."""
    excluded, known = families_models.excluded(reads), MAPPINGS[reads]()
    return [each for each in known if each in wanted or (not wanted and each not in excluded)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the outcomes to this file, with machine and versions")
    parser.add_argument("--input", choices=tuple(MAPPINGS), help="only families that read this")
    parser.add_argument("types", nargs="*", help="model types; all that are counted, if none is given")
    given = parser.parse_args()
    prepare()
    tell = lambda outcome, seconds: print(line(outcome, seconds), flush=True)
    outcomes = []
    for reads in (given.input,) if given.input else MAPPINGS:
        outcomes += walk(counted(reads, given.types), tell, reads=reads)
    found = content(outcomes)
    print(families_table.summaries(found))
    if given.json:
        write_file(Path(given.json), json.dumps(found, indent=1, ensure_ascii=False).encode("utf-8"))
    if not given.types:
        known = TABLE.read_text(encoding="utf-8") if TABLE.is_file() else ""
        write_file(TABLE, families_table.joined(known, found).encode("utf-8"))


if __name__ == "__main__":
    main()
