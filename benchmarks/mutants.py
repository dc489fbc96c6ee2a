"""Plant small faults, one at a time, and see whether the tests notice: python -m benchmarks.mutants --seed 1 --n 60

A fault changes an operator, a comparison, a constant or a negation in FILES. For each, the tests that execute its line
run until the first failure or the end of the time, those of the quickest files first; a fault in a line that no test
executes survives. Which tests execute which lines is measured once for each commit: the tests run with this file as a
plugin of pytest. Faults are planted in a copy of what is committed.
"""
import argparse
import ast
import hashlib
import importlib.util
import inspect
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

assert sys.platform != "win32", "This benchmark forks for each fault, which Windows cannot; run it elsewhere."

ROOT = Path(__file__).parent.parent
FILES = ("model/core/**/*.py", "model/capture/**/*.py", "model/studies/**/*.py", "model/look/**/*.py",
         "clearhead/*.py")
# the runs of pytest that are measured: no browser, and no test of style, because the style of a fault is none
RUNS = (["tests/model", "tests/clearhead"], ["-m", "fast", "--ignore=tests/model", "--ignore=tests/test_rules.py"])
IMPORTED = ("torch", "transformers.modeling_utils", "pandas", "scipy.stats", "huggingface_hub")
SWAPPED: dict[type, str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and",
    ast.BitAnd: "|", ast.BitOr: "&"}


@dataclass(frozen=True)
class Fault:
    """One change of a source file."""

    path: str       # relative to the root
    line: int
    statement: int  # the first line of its statement
    called: bool    # whether it runs when a function is called, not when the file is imported
    text: str       # the source of the line
    old: str        # the source of the expression
    new: str        # what replaces it
    start: int      # in bytes of the file
    end: int


def faults_in(path: Path) -> Iterator[Fault]:
    """Yield every fault that can be planted in a file."""
    source = path.read_text(encoding="utf-8")
    lines, starts = source.splitlines(keepends=True), [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))

    def place(node: ast.expr) -> tuple[int, int]:
        return (starts[node.lineno - 1] + node.col_offset,
                starts[int(node.end_lineno or 0) - 1] + int(node.end_col_offset or 0))

    content, name = source.encode(), path.relative_to(ROOT).as_posix()
    for node, statement, called in expressions(ast.parse(source)):
        whole = place(node)
        for new in changes(node, lambda part: content[slice(*place(part))].decode()):
            yield Fault(name, node.lineno, statement, called, lines[node.lineno - 1].strip(),
                        content[slice(*whole)].decode(), new, *whole)


def expressions(tree: ast.AST, statement: int = 0, called: bool = False) -> Iterator[tuple[ast.expr, int, bool]]:
    """Yield the expressions that run, with the line of their statement and whether they are in a function's body: none
    in annotations, f-strings, errors, patterns and blocks for type checkers."""
    if isinstance(tree, ast.Raise | ast.JoinedStr | ast.Assert | ast.pattern):
        return
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        inside = called or (field == "body" and isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef))
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
                continue
            first = node.lineno if isinstance(node, ast.stmt) else statement
            if isinstance(node, ast.expr):
                yield node, first, inside
            if isinstance(node, ast.AST):
                yield from expressions(node, first, inside)


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
    """Draw faults at random, each with equal probability: those with the smallest hashes. They stay the same when other
    code changes."""
    seen: Counter[str] = Counter()

    def order(fault: Fault) -> str:
        key = f"{seed} {fault.path} {fault.text} {fault.old} {fault.new}"
        seen[key] += 1
        return hashlib.sha256(f"{key} {seen[key]}".encode()).hexdigest()

    return sorted((fault for pattern in FILES for path in sorted(ROOT.glob(pattern)) for fault in faults_in(path)),
                  key=order)[:count]


class Executed:
    """A plugin of pytest: write which lines of model and clearhead each passing test executes, and its seconds. What a
    fixture executes belongs to every test that uses it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: set[tuple[str, int]] = set()
        self.of_fixtures: dict[object, set[tuple[str, int]]] = {}
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: set[str] = set()
        self.roots = tuple(f"{ROOT / name}{os.sep}" for name in ("model", "clearhead"))

    def called(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        """Follow functions of model and clearhead; code of modules and classes is not optimized."""
        code = frame.f_code
        return self.step if code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(self.roots) else None

    def step(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        """Note a line."""
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.step

    def pytest_collection_finish(self) -> None:
        """Start to follow."""
        threading.settrace(self.called)
        sys.settrace(self.called)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: object) -> Generator[None, Any, Any]:
        """Note the lines of a fixture."""
        before, self.lines = self.lines, set()
        try:
            return (yield)
        finally:
            self.of_fixtures[fixturedef] = self.lines
            self.lines = before | self.lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Note the lines of a test."""
        self.lines, began = set(), time.perf_counter()
        result = yield
        used = [self.of_fixtures.get(each, set()) for every in item._fixtureinfo.name2fixturedefs.values()
                for each in every]
        lines: dict[str, list[int]] = {}
        for path, line in self.lines.union(*used):
            lines.setdefault(Path(path).relative_to(ROOT).as_posix(), []).append(line)
        self.tests[item.nodeid] = {"seconds": time.perf_counter() - began, "lines": lines}
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Stop, and write what was noted."""
        sys.settrace(None)
        threading.settrace(None)   # type: ignore[arg-type]
        passed = {name: test for name, test in self.tests.items() if name not in self.failed}
        self.file.with_suffix(f".{os.getpid()}.json").write_text(json.dumps(passed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, in pytest's process or in each of its workers."""
    config.pluginmanager.register(Executed(Path(os.environ["EXECUTED"])))


def measured(checkout: Path) -> dict[str, dict[str, Any]]:
    """Return the seconds and lines of each test that passes in a checkout, from the cache or by running them."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=checkout, encoding="utf-8").strip()
    cache = Path(tempfile.gettempdir(), "clearhead-mutants", f"{commit}.json")
    if not cache.exists():
        cache.parent.mkdir(exist_ok=True)
        for arguments in RUNS:
            subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.mutants", *arguments], cwd=checkout,
                           check=False, env=os.environ | {"EXECUTED": str(cache)})
        parts = sorted(cache.parent.glob(f"{commit}.*.json"))
        put_together = {name: test for part in parts for name, test in json.loads(part.read_text("utf-8")).items()}
        cache.write_text(json.dumps(put_together), encoding="utf-8")
        for part in parts:
            part.unlink()
    return json.loads(cache.read_text("utf-8"))


def tests_of(fault: Fault, tests: dict[str, dict[str, Any]]) -> list[str]:
    """Return the tests that execute a fault's line, or of one that runs on import any line of its file, those of the
    quickest files first."""
    lines = {name: test["lines"].get(fault.path, []) for name, test in tests.items()}
    if fault.called:
        found = ([name for name in tests if fault.line in lines[name]]
                 or [name for name in tests if fault.statement in lines[name]])
    else:
        found = [name for name in tests if lines[name]]
    of_files: Counter[str] = Counter()
    for name in found:
        of_files[name.partition("::")[0]] += tests[name]["seconds"]
    return sorted(found, key=lambda name: (of_files[name.partition("::")[0]], tests[name]["seconds"]))


def run(checkout: Path, tests: list[str]) -> None:
    """Run tests in a checkout until the first failure, in this process, and exit with pytest's code."""
    os.setsid()
    os.chdir(checkout)
    with (checkout.parent / "told").open("w") as told:
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
    sys.exit(int(pytest.main(["-n", "0", "-x", "-q", f"--basetemp={checkout.parent / 'made'}",
                              "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests])))   # IMPORTED was before it


def noticed(fault: Fault, checkout: Path, tests: list[str], longest: float) -> dict[str, object]:
    """Plant a fault in a checkout, run the tests for at most `longest` seconds, and return the fault with the test that
    noticed it, or "". The file is restored afterwards, and no bytecode of the fault remains."""
    path, began = checkout / fault.path, time.perf_counter()
    content = path.read_bytes()
    path.write_bytes(content[:fault.start] + fault.new.encode() + content[fault.end:])
    by = ""
    process = multiprocessing.get_context("fork").Process(target=run, args=(checkout, tests))   # keeps the imports
    try:
        process.start()
        process.join(longest)
        if process.exitcode:   # None if time is over, because slowness alone proves nothing
            told = (checkout.parent / "told").read_text(encoding="utf-8").splitlines()
            failed = [line for line in told if line.startswith(("FAILED", "ERROR"))]
            by = failed[-1].split(" - ")[0].partition(" ")[2] if failed else "the start of pytest"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(int(process.pid or 0), signal.SIGKILL)   # with the processes that the tests started
        process.join()
        path.write_bytes(content)
        os.utime(path, (0, 0))   # or else bytecode of the fault, of the same second and size, would pass for the file's
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    return asdict(fault) | {"by": by, "seconds": round(time.perf_counter() - began)}


def main() -> None:
    """Plant the faults and print a table of those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--longest", type=float, default=240, help="seconds for each fault")
    parser.add_argument("--json", type=Path, help="append each result to this file, and skip those that are in it")
    chosen = parser.parse_args()
    lines = chosen.json.read_text(encoding="utf-8").splitlines() if chosen.json and chosen.json.exists() else []
    known = {(each["path"], each["start"], each["new"]): each for each in map(json.loads, lines)}
    survived = []
    with tempfile.TemporaryDirectory() as room:
        checkout = Path(room, "clearhead")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(checkout)], check=True)
        executed = measured(checkout)
        for name in IMPORTED:
            importlib.import_module(name)
        for number, fault in enumerate(drawn(chosen.seed, chosen.n), 1):
            found = known.get((fault.path, fault.start, fault.new))
            if found is None:
                tests = tests_of(fault, executed)
                found = noticed(fault, checkout, tests, chosen.longest) if tests else asdict(fault) | {
                    "by": "", "seconds": 0}
                if chosen.json:
                    with chosen.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found) + "\n")
            if not found["by"]:
                survived.append(found)
            print(f"{number}/{chosen.n} {found['path']}:{found['line']} {found['by'] or 'SURVIVED'} "
                  f"({found['seconds']} s)", flush=True)
    print(f"\nSeed {chosen.seed}: {chosen.n - len(survived)} of {chosen.n} noticed, {date.today()}.\n")
    print("| place | fault |\n| --- | --- |")
    for each in survived:
        print(f"| `{each['path']}:{each['line']}` | `{' '.join(str(each['old']).split())}` → "
              f"`{' '.join(str(each['new']).split())}` |")


if __name__ == "__main__":
    main()
