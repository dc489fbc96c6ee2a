"""The project's rules that ruff and import-linter do not check."""
import re
import subprocess
import sys
import warnings
from graphlib import TopologicalSorter

import grimp
import pytest

from tests.conftest import ROOT

SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (
    ROOT / "app.py", ROOT / "server.py", *(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py"))}


def passes(*command: str) -> None:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]


def test_ruff_has_no_complaint():
    passes(sys.executable, "-m", "ruff", "check", ".")


def test_imports_keep_their_contracts():
    passes(sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache")


@pytest.mark.rest
@pytest.mark.parametrize("system", ["darwin", "win32"])   # Linux: .ci/run
def test_types_hold_on_other_systems(system, tmp_path):
    passes(sys.executable, "-m", "mypy", "--platform", system, "--no-incremental", "--cache-dir", str(tmp_path))


def test_no_module_imports_itself_through_others():
    graph = grimp.build_graph("clearhead", exclude_type_checking_imports=True, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


def test_no_view_contacts_another_machine():
    for path in (*(ROOT / "viz").rglob("*.js"), *(ROOT / "viz").rglob("*.css"), ROOT / ".streamlit" / "config.toml"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org", "")
        assert not re.search(r"https?://", text), path


# calls that write, or move, a file in its place
WRITES = re.compile(r"\.write_(?:text|bytes)\(|\bopen\((?:[^()]|\([^()]*\))*?\"[rbt+]*[wax+][wbt+]*\"|"
                    r"\b(?:save_file|np\.save\w*|torch\.save)\(|ZipFile\([^()]*\"[wax]\"|"
                    r"\.replace\([\w.]+\)|\.rename\((?!\s*(?:columns|index)=)")
# who may: they write to what clearhead.model.core.files gave them, or to what nobody takes for whole
WRITERS = {"model/core/files.py", "model/core/npz.py", "model/pretrained/convert.py",
           "model/scratch/train.py", "model/training/processes.py"}   # what a process prints, as it prints it


def test_files_are_written_by_the_module_that_survives_a_kill():
    """A program killed while it overwrites a file leaves half of it; clearhead.model.core.files does not."""
    found = {name for name, text in SOURCES.items() if WRITES.search(text)}
    assert found == WRITERS


def test_missing_encoding_is_an_error_in_our_modules():
    with pytest.raises(EncodingWarning):
        warnings.warn_explicit("planted", EncodingWarning, "files.py", 1, module="clearhead.model.core.files")
    warnings.warn_explicit("planted", EncodingWarning, "core.py", 1, module="click.core")
    child = subprocess.run([sys.executable, "-c", "open(0)"], capture_output=True, stdin=subprocess.DEVNULL)
    assert b"EncodingWarning" in child.stderr
