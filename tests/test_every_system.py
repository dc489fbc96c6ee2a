"""What our own sources must not do, because it is right on one system alone."""
import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("model", "viz", "benchmarks", "tests")
FILES = [ROOT / "app.py", ROOT / "server.py",
         *sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
TEXT_MODE = re.compile(r"[rwaxt+]+")


def constant(node: ast.AST | None, otherwise):
    """What stands there; None for what only a run would tell."""
    return otherwise if node is None else node.value if isinstance(node, ast.Constant) else None


def opens_text(node: ast.Call, given: dict[str | None, ast.expr]) -> bool:
    """Whether the call opens a file, or a process, for text."""
    match node.func:
        case ast.Name("open"):
            mode = constant(node.args[1] if len(node.args) > 1 else given.get("mode"), "r")
        # of a Path, with one argument at most; archives and pictures open by a name, which is no mode
        case ast.Attribute(attr="open"):
            mode = constant(node.args[0] if node.args else given.get("mode"), "r") if len(node.args) < 2 else None
        case ast.Attribute(attr="read_text" | "write_text"):
            mode = "r"
        case _:
            return any(constant(given.get(name), False) is True for name in ("text", "universal_newlines"))
    return isinstance(mode, str) and TEXT_MODE.fullmatch(mode) is not None


def without_encoding(tree: ast.AST) -> Iterator[ast.Call]:
    """Calls that take the system's own encoding: UTF-8 on one, code page 1252 on another."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {each.arg: each.value for each in node.keywords}
            if not {"encoding", None} & given.keys() and opens_text(node, given):
                yield node


def waits_by_another_clock(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Windows moves these in steps of a 64th of a second."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("time.monotonic"):
            yield node


TABLES = {"columns", "index"}   # arguments by which a table of pandas is told from a Path


def moves_without_patience(tree: ast.AST) -> Iterator[ast.Call]:
    """Windows refuses to move a file while somebody reads it; `model.core.files.put` waits. A text's replace has two
    arguments, a Path's one."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name("os"), "replace") | ast.Attribute(ast.Name("shutil"), "move")
                          | ast.Attribute(attr="rename"), _, keywords) if not {each.arg for each in keywords} & TABLES:
                yield node
            case ast.Call(ast.Attribute(attr="replace"), [_], []):
                yield node


def faults(path: Path) -> Iterator[str]:
    tree, where = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
    for node in without_encoding(tree):
        yield f"{where}:{node.lineno} opens a text without saying its encoding"
    for node in waits_by_another_clock(tree):
        yield f"{where}:{node.lineno} uses time.{node.attr}; take time.perf_counter"
    if where.parts[0] != "tests" and where != Path("model/core/files.py"):
        for node in moves_without_patience(tree):
            yield f"{where}:{node.lineno} moves a file; take model.core.files.put"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_holds_on_every_system(path):
    assert list(faults(path)) == []


def found(by, line: str) -> bool:
    return any(by(ast.parse(line)))


@pytest.mark.parametrize("line, wrong", [
    ("open(path)", True), ("open('file.txt', 'w')", True), ("open(path, 'w')", True), ("open(path, mode='a')", True),
    ("open(path, 'rb')", False),
    ("open(path, encoding='ascii')", False), ("path.open()", True), ("path.open('w')", True),
    ("path.open('rb')", False), ("path.read_text()", True),
    ("archive.open(name, 'w')", False), ("Image.open(file)", False), ("path.write_text(text)", True),
    ("path.read_text(encoding='utf-8')", False),
    ("run(command, text=True)", True), ("run(command, text=False)", False), ("ask(text='a cat')", False),
    ("run(command, encoding='utf-8')", False)])
def test_a_missing_encoding_is_found(line, wrong):
    assert found(without_encoding, line) is wrong


def test_a_missing_encoding_that_only_a_run_shows_is_an_error_in_our_modules_and_told_by_every_child():
    with pytest.raises(EncodingWarning):
        warnings.warn_explicit("planted", EncodingWarning, "files.py", 1, module="model.core.files")
    warnings.warn_explicit("planted", EncodingWarning, "core.py", 1, module="click.core")
    child = subprocess.run([sys.executable, "-c", "open(0)"], capture_output=True, stdin=subprocess.DEVNULL)
    assert b"EncodingWarning" in child.stderr


@pytest.mark.parametrize("line, wrong", [
    ("os.replace(a, b)", True), ("os.rename(a, b)", True), ("shutil.move(a, b)", True), ("part.replace(path)", True),
    ("part.rename(path)", True),
    ("frame.rename(columns=names)", False), ("frame.rename(index=names)", False),
    ("name.replace('/', '-')", False), ("replace(view, head=1)", False), ("dataclasses.replace(view, head=1)", False)])
def test_a_move_is_found(line, wrong):
    assert found(moves_without_patience, line) is wrong
