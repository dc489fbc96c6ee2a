"""Plant small faults, one at a time, and see whether the tests notice: python -m benchmarks.mutants --seed 1 --n 60

A fault changes an operator, a comparison, a constant or a negation in FILES. For each, the tests that import its
file run, then those of its folder, then `pytest -m fast`, until the first failure or the end of the time. The faults
are planted in copies of what is committed, one copy for each process.
"""
import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "clearhead"
FILES = ("model/core/**/*.py", "model/capture/**/*.py", "model/studies/**/*.py", "model/look/**/*.py", "*.py")
IGNORED = "--ignore=tests/test_rules.py"   # the style of a fault is none
SWAPPED: dict[type, str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and",
    ast.BitAnd: "|", ast.BitOr: "&"}


@dataclass(frozen=True)
class Fault:
    """One change of a source file."""

    path: str    # relative to the root
    line: int
    old: str     # the source of the expression
    new: str     # what replaces it
    start: int   # in bytes of the file
    end: int


def faults_in(path: Path) -> Iterator[Fault]:
    """Yield every fault that can be planted in a file."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def place(node: ast.expr) -> tuple[int, int]:
        return (starts[node.lineno - 1] + node.col_offset,
                starts[int(node.end_lineno or 0) - 1] + int(node.end_col_offset or 0))

    content, name = source.encode(), path.relative_to(ROOT).as_posix()
    for node in expressions(ast.parse(source)):
        whole = place(node)
        for new in changes(node, lambda part: content[slice(*place(part))].decode()):
            yield Fault(name, node.lineno, content[slice(*whole)].decode(), new, *whole)


def expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that run: none in annotations, f-strings, errors, patterns and blocks for type checkers."""
    if isinstance(tree, ast.Raise | ast.JoinedStr | ast.Assert | ast.pattern):
        return
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.expr):
                yield node
            if isinstance(node, ast.AST):
                yield from expressions(node)


def changes(node: ast.expr, text: Callable[[ast.expr], str]) -> Iterator[str]:
    """Yield the sources that may replace an expression. text(part) is the source of a part of it."""
    match node:
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]) if type(operator) in SWAPPED:
            yield f"(({text(left)}) {SWAPPED[type(operator)]} ({text(right)}))"
        case ast.BoolOp(operator, parts):
            yield "(" + f" {SWAPPED[type(operator)]} ".join(f"({text(part)})" for part in parts) + ")"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield f"({text(operand)})"
        case ast.IfExp(test, body, other):
            yield f"(({text(body)}) if not ({text(test)}) else ({text(other)}))"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() | float() as value):
            yield str(value + 1)


def drawn(seed: int, count: int) -> list[Fault]:
    """Draw faults at random, each expression with equal probability."""
    every = [fault for pattern in FILES for path in sorted(PACKAGE.glob(pattern)) for fault in faults_in(path)]
    return random.Random(seed).sample(every, count)


def tests_of(path: str) -> list[list[str]]:
    """Return the arguments of each run of pytest for a fault in this file: the tests of its folder that import it, the
    others of the folder, and the fast ones elsewhere."""
    inside = Path(path).relative_to("clearhead").parent
    folder = Path("tests", inside if inside.name else "clearhead")
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    named = re.compile(rf"^(from|import) .*\b{Path(path).stem}\b", re.MULTILINE)
    own = [str(each.relative_to(ROOT)) for each in sorted((ROOT / folder).rglob("test_*.py"))
           if named.search(each.read_text(encoding="utf-8"))]
    further = [[str(folder), *(f"--ignore={each}" for each in own)], ["-m", "fast", f"--ignore={folder}"]]
    return [own, *further] if own else further


def noticed(fault: Fault, checkout: Path, longest: float) -> dict[str, object]:
    """Plant a fault in a checkout, run the tests for at most `longest` seconds, and return the fault with the test that
    noticed it, or "". The file is restored afterwards."""
    path, began = checkout / fault.path, time.perf_counter()
    content = path.read_bytes()
    path.write_bytes(content[:fault.start] + fault.new.encode() + content[fault.end:])
    by = ""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        for arguments in tests_of(fault.path):
            left = longest - (time.perf_counter() - began)
            ran = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "--no-header", IGNORED,
                                  *arguments], cwd=checkout, capture_output=True, encoding="utf-8",
                                 timeout=max(left, 1), env=environment, check=False)
            if ran.returncode not in (0, 5):   # 5: no tests
                failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                by = failed[-1].split(" - ")[0].partition(" ")[2] if failed else "the start of pytest"
                break
    except subprocess.TimeoutExpired:
        by = ""   # slowness alone proves nothing
    finally:
        path.write_bytes(content)
        os.utime(path, (0, 0))   # or else the fault's bytecode, of the same second and size, would pass for the file's
    return asdict(fault) | {"by": by, "seconds": round(time.perf_counter() - began)}


def main() -> None:
    """Plant the faults and print a table of those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--longest", type=float, default=240, help="seconds for each fault")
    parser.add_argument("--json", type=Path, help="append each result to this file, and skip those that are in it")
    chosen = parser.parse_args()
    lines = chosen.json.read_text(encoding="utf-8").splitlines() if chosen.json and chosen.json.exists() else []
    known = {(each["path"], each["start"], each["new"]): each for each in map(json.loads, lines)}
    faults, results = drawn(chosen.seed, chosen.n), []
    with tempfile.TemporaryDirectory() as room:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(chosen.processes):
            checkout = Path(room, str(number))
            subprocess.run(["git", "clone", "-q", str(ROOT), str(checkout)], check=True)
            free.put(checkout)

        def judge(fault: Fault) -> dict[str, object]:
            if (fault.path, fault.start, fault.new) in known:
                return known[fault.path, fault.start, fault.new]
            checkout = free.get()
            try:
                found = noticed(fault, checkout, chosen.longest)
            finally:
                free.put(checkout)
            if chosen.json:
                with chosen.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
            return found

        with ThreadPoolExecutor(chosen.processes) as pool:
            for number, found in enumerate(pool.map(judge, faults), 1):
                results.append(found)
                print(f"{number}/{chosen.n} {found['path']}:{found['line']} {found['by'] or 'SURVIVED'} "
                      f"({found['seconds']} s)", flush=True)
    survived = [each for each in results if not each["by"]]
    print(f"\nSeed {chosen.seed}: {len(results) - len(survived)} of {len(results)} noticed, {date.today()}.\n")
    print("| place | fault |\n| --- | --- |")
    for each in survived:
        print(f"| `{each['path']}:{each['line']}` | `{' '.join(str(each['old']).split())}` → "
              f"`{' '.join(str(each['new']).split())}` |")


if __name__ == "__main__":
    main()
