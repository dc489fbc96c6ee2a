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


OURS = {"writing", "beside"}    # of model.core.files: what they give may be written to
# which argument is the place
SAVES = {"save_file": 1, "torch.save": 1, "np.save": 0, "np.savez": 0, "np.savez_compressed": 0, "zipfile.ZipFile": 0}
MODE = re.compile(r"[rbt+]*[wax+][wbt+]*")   # that writes
WRITE = ("model", "viz", "app.py", "server.py")
UNFINISHED = {   # what is no file in its place: it is read by nobody as whole
    "model/pretrained/hub.py": "part.open",                                   # goes on where a download stopped
    "model/training/processes.py": "(self.folder / 'errors.txt').open"}       # what a process prints, as it prints it


def called(node: ast.AST) -> str:
    """The last name of what is called, "" for anything else."""
    match node:
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(attr=name)):
            return name
    return ""


def given_to_write(tree: ast.AST) -> set[str]:
    """Names that a `with` binds to what model.core.files gives to be written."""
    items = [item for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items]
    return {item.optional_vars.id for item in items if isinstance(item.optional_vars, ast.Name)
            and OURS & {called(part) for part in ast.walk(item.context_expr)}}


def place_written(node: ast.Call) -> ast.AST | None:
    """What the call writes to by itself: a file, or a path; None if it writes nothing."""
    mode = next((each.value for each in node.keywords if each.arg == "mode"), None)
    match node.func:
        case ast.Attribute(owner, "write_text" | "write_bytes"):
            return owner
        case ast.Attribute(owner, "open") if len(node.args) < 2:
            return owner if writes(node.args[0] if node.args else mode) else None
        case ast.Name("open"):
            return node.args[0] if writes(node.args[1] if len(node.args) > 1 else mode) else None
    number = SAVES.get(ast.unparse(node.func))
    if number is None or (called(node) == "ZipFile" and not writes(node.args[1] if len(node.args) > 1 else mode)):
        return None
    return node.args[number]


def writes(mode: ast.AST | None) -> bool:
    """Whether a file is opened so that it changes; a mode may be chosen between two."""
    parts = [mode.body, mode.orelse] if isinstance(mode, ast.IfExp) else [mode]
    return any(isinstance(part, ast.Constant) and MODE.fullmatch(str(part.value)) for part in parts)


def writes_by_itself(tree: ast.AST) -> Iterator[ast.Call]:
    """What is killed, or finds the disk full, while it writes over a file leaves half of it; `model.core.files.write`,
    `writing` and `beside` leave the old one."""
    ours = given_to_write(tree)
    for node in ast.walk(tree):
        place = place_written(node) if isinstance(node, ast.Call) else None
        if place is not None and ast.unparse(place) not in ours:
            yield node


POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios"}


def needs_posix(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports, at a module's top, of what Windows' Python lacks: there nothing of the module would be had."""
    for node in tree.body if isinstance(tree, ast.Module) else []:
        names = ([each.name for each in node.names] if isinstance(node, ast.Import)
                 else [node.module] if isinstance(node, ast.ImportFrom) else [])
        if POSIX & set(names):
            yield node


def faults(path: Path) -> Iterator[str]:
    tree, where = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
    for node in without_encoding(tree):
        yield f"{where}:{node.lineno} opens a text without saying its encoding"
    for node in waits_by_another_clock(tree):
        yield f"{where}:{node.lineno} uses time.{node.attr}; take time.perf_counter"
    for node in needs_posix(tree):
        yield f"{where}:{node.lineno} imports what Windows lacks; import it where it is used"
    if where.parts[0] != "tests" and where != Path("model/core/files.py"):
        for node in moves_without_patience(tree):
            yield f"{where}:{node.lineno} moves a file; take model.core.files.put"
    if where.parts[0] in WRITE and where != Path("model/core/files.py"):
        for node in writes_by_itself(tree):
            if ast.unparse(node.func) != UNFINISHED.get(where.as_posix()):
                yield f"{where}:{node.lineno} writes a file where it belongs; take model.core.files.write"


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
    ("import resource", True), ("from fcntl import flock", True), ("import os, pwd", True), ("import resources", False),
    ("def limit():\n    import resource", False)])
def test_what_windows_lacks_is_found_at_the_top_of_a_module(line, wrong):
    assert found(needs_posix, line) is wrong


@pytest.mark.parametrize("line, wrong", [
    ("os.replace(a, b)", True), ("os.rename(a, b)", True), ("shutil.move(a, b)", True), ("part.replace(path)", True),
    ("part.rename(path)", True),
    ("frame.rename(columns=names)", False), ("frame.rename(index=names)", False),
    ("name.replace('/', '-')", False), ("replace(view, head=1)", False), ("dataclasses.replace(view, head=1)", False)])
def test_a_move_is_found(line, wrong):
    assert found(moves_without_patience, line) is wrong


@pytest.mark.parametrize("line, wrong", [
    ("path.write_text('a', encoding='utf-8')", True), ("(folder / 'a').write_bytes(b'')", True),
    ("open(path, 'wb')", True), ("open(path, mode='a')", True), ("open(path, 'rb')", False), ("open(path)", False),
    ("path.open('r+b')", True), ("path.open('ab' if old else 'wb')", True), ("path.open('rb')", False),
    ("path.open()", False),
    ("archive.open(name, 'w')", False), ("Image.open(file)", False), ("models.open(query, report)", False),
    ("save_file(tensors, path)", True), ("save_file(tensors, folder / 'a', metadata=about)", True),
    ("with beside(path) as new: save_file(tensors, new)", False), ("with other(path) as new: save_file(a, new)", True),
    ("np.savez(path, a=a)", True), ("with files.writing(path) as file: np.savez(file, a=a)", False),
    ("with files.writing(path) as file: np.savez(other, a=a)", True), ("save(tensors)", False),
    ("zipfile.ZipFile(path, 'w')", True), ("zipfile.ZipFile(path)", False),
    ("with (writing(a) if b else c as file, zipfile.ZipFile(file, 'w') as archive): pass", False)])
def test_a_file_written_where_it_belongs_is_found(line, wrong):
    assert found(writes_by_itself, line) is wrong


@pytest.mark.parametrize("where", UNFINISHED)
def test_what_may_be_unfinished_is_written_there(where):
    tree = ast.parse((ROOT / where).read_text(encoding="utf-8"))
    assert [ast.unparse(node.func) for node in writes_by_itself(tree)] == [UNFINISHED[where]]
