"""The wheel's modules and data files, and the imports of its build."""
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT


def test_build_needs_no_package():
    """pip builds in an environment that only has setuptools."""
    ran = subprocess.run([sys.executable, "-S", "-c", "import clearhead.model.core.version"], cwd=ROOT,
                         capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.rest
def test_wheel_holds_what_the_app_reads(tmp_path):
    copy = tmp_path / "copy"   # without the links that only type checkers need, as a system without links has it
    shutil.copytree(ROOT, copy, symlinks=True, ignore=lambda folder, names: [
        name for name in names if name in (".git", "node_modules")
        or (Path(folder, name).is_symlink() and name in ("model", "viz"))])
    ran = subprocess.run([sys.executable, "setup.py", "-q", "build", "--build-base", str(tmp_path / "base"),
                          "--build-lib", str(tmp_path / "lib")], cwd=copy, capture_output=True, encoding="utf-8",
                         check=False)
    assert ran.returncode == 0, ran.stderr
    inside = tmp_path / "lib" / "clearhead"
    for name in ("app.py", "server.py", ".streamlit/config.toml"):
        assert (inside / "run" / name).read_bytes() == (ROOT / name).read_bytes()
    assert not tomllib.loads((inside / "run" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))[
        "browser"]["gatherUsageStats"]
    held = {path.relative_to(inside / "assets") for path in (inside / "assets").rglob("*") if path.is_file()}
    assert held == {path.relative_to(ROOT / "assets") for path in (ROOT / "assets").rglob("*") if path.is_file()}
    assert (inside / "viz" / "style" / "present.css").exists() and (inside / "py.typed").exists()
    assert [path.name for path in (tmp_path / "lib").iterdir()] == ["clearhead"]
    for name in ("model", "viz"):
        assert {path.relative_to(inside) for path in (inside / name).rglob("*.py")} == {
            path.relative_to(ROOT) for path in (ROOT / name).rglob("*.py")}
