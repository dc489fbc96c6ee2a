"""Open small files that would be expensive: `python -m benchmarks.bombs [--json FILE] [--page FILE] [NAME …]`.

Each file is opened in its own process with the same code as in the app, and so is a valid file of its kind. The cost of
a bomb is the difference in peak memory (getrusage) and CPU time.
"""
import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.bomb_files import FILES
from clearhead.model.core.files import write as write_file
from clearhead.model.core.query import UserError

MEMORY, SECONDS = 200.0, 5.0   # limits in MB and seconds for a bomb, in addition to a valid file of its kind
INTRODUCTION = """# What malicious small files cost

Written by `python -m benchmarks.bombs --page benchmarks/bombs.md`. Each file is opened in its own process, in the way
that the app opens it. Memory is the process's peak; seconds are processor time. The bar is 200 MB and 5 s more than a
valid file of the same kind.

"""


@dataclass(frozen=True)
class Cost:
    """The cost of opening one file."""

    name: str
    kind: str
    packed: int      # size in bytes of the file, or of the changed file in a folder
    seconds: float   # CPU time without imports
    memory: float    # peak memory of the process in MB
    answer: str      # "opened", or the error


def prepare(kind: str) -> Callable[[Path], object]:
    """Import the modules that open a file of this kind, and return the function that opens it."""
    if kind in ("npz", "safetensors"):
        from clearhead.model.imported import source

        return lambda path: source.store(path.read_bytes(), path.name)
    if kind == "picture":
        from clearhead.model.core import pictures

        return lambda path: pictures.keep(path.read_bytes(), path.name)
    from clearhead.viz.export.handout import files

    return lambda path: files.load(path.read_bytes())


def child(kind: str, path: Path) -> None:
    """Open the file and print the cost. Raises UserError on Windows, which does not report peak memory."""
    if sys.platform == "win32":
        raise UserError("The bombs can only be measured on Linux and macOS; run this there.")
    import resource

    open_ = prepare(kind)
    begin = time.process_time()
    try:
        open_(path)
        answer = "opened"
    except UserError as error:
        answer = str(error)
    seconds = time.process_time() - begin
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, answer]))


def cost(kind: str, name: str, limit: float = 300) -> Cost:
    """Measure the cost of opening a file in its own process, which is killed after `limit` seconds. Another process
    creates the file, because a process inherits its parent's peak memory."""
    with tempfile.TemporaryDirectory() as place:
        path, size = json.loads(_run(600, "--make", kind, name, place).stdout)
        try:
            ended = _run(limit, "--open", kind, path)
            seconds, memory, answer = json.loads(ended.stdout.splitlines()[-1]) if ended.returncode == 0 else (
                math.inf, math.inf, (ended.stderr.splitlines() or ["it was killed"])[-1])
        except subprocess.TimeoutExpired:
            seconds, memory, answer = limit, math.inf, "no answer"
    return Cost(name, kind, size, seconds, memory, answer.replace(f"{place}/", ""))


def _run(limit: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "benchmarks.bombs", *arguments], capture_output=True, encoding="utf-8",
                          timeout=limit)


def make(kind: str, name: str, place: Path) -> None:
    """Write the file, and print the path to open and the size of the relevant part."""
    path = place / f"mine.{kind}"
    path.write_bytes(FILES[kind][name]())
    print(json.dumps([str(path), path.stat().st_size]))


def page(costs: list[Cost]) -> str:
    """Format the table as Markdown."""
    good = {each.kind: each for each in costs if each.name == "good"}
    lines = ["| kind | file | KB | MB more | s more | answer |", "| --- | --- | --- | --- | --- | --- |"]
    for each in costs:
        base = good[each.kind]
        more = (f"{each.memory - base.memory:,.0f} | {each.seconds - base.seconds:.1f}" if each is not base
                else f"({each.memory:,.0f}) | ({each.seconds:.1f})")
        lines.append(f"| {each.kind} | {each.name} | {each.packed / 1e3:,.1f} | {more} | {each.answer} |")
    return (INTRODUCTION + f"{platform.system()}, {os.cpu_count()} cores, {datetime.date.today()}.\n\n"
            + "\n".join(lines) + "\n")


def missed(costs: list[Cost]) -> list[str]:
    """Return the files that exceed the limits."""
    good = {each.kind: each for each in costs if each.name == "good"}
    return [f"{each.kind}: {each.name}" for each in costs
            if each.memory > good[each.kind].memory + MEMORY or each.seconds > good[each.kind].seconds + SECONDS]


def main() -> None:
    """Open all files, or those with a given kind or name, and the valid ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--make", nargs=3, metavar=("KIND", "NAME", "FOLDER"))
    parser.add_argument("--open", nargs=2, metavar=("KIND", "PATH"))
    chosen = parser.parse_args()
    if chosen.make:
        return make(chosen.make[0], chosen.make[1], Path(chosen.make[2]))
    if chosen.open:
        return child(chosen.open[0], Path(chosen.open[1]))
    costs = []
    for kind, names in FILES.items():
        for name in names:
            if not chosen.names or name == "good" or {kind, name} & set(chosen.names):
                costs.append(cost(kind, name))
                print(f"{kind:<8} {name:<42} {costs[-1].packed / 1e3:>10,.1f} KB {costs[-1].seconds:>6.1f} s "
                      f"{costs[-1].memory:>7,.0f} MB  {costs[-1].answer[:160]}", flush=True)
    if chosen.json:
        write_file(chosen.json, json.dumps([asdict(each) for each in costs], indent=1).encode("utf-8"))
    if chosen.page:
        write_file(chosen.page, page(costs).encode("utf-8"))
    if over := missed(costs):
        sys.exit(f"more than {MEMORY:.0f} MB or {SECONDS:.0f} s above a good file: {', '.join(over)}")


if __name__ == "__main__":
    main()
