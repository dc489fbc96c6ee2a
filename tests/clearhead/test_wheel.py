"""The wheel's data files, and the imports of its build."""
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT


def test_build_needs_no_package():
    """pip builds in an environment that only has setuptools."""
    ran = subprocess.run([sys.executable, "-S", "-c", "import model.core.version"], cwd=ROOT, capture_output=True,
                         encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.rest
def test_wheel_holds_what_the_app_reads(tmp_path):
    ran = subprocess.run([sys.executable, "setup.py", "-q", "build", "--build-base", str(tmp_path / "base"),
                          "--build-lib", str(tmp_path / "lib")], cwd=ROOT, capture_output=True, encoding="utf-8",
                         check=False)
    assert ran.returncode == 0, ran.stderr
    inside = tmp_path / "lib" / "clearhead"
    for name in ("app.py", "server.py", ".streamlit/config.toml"):
        assert (inside / "run" / name).read_bytes() == (ROOT / name).read_bytes()
    assert not tomllib.loads((inside / "run" / ".streamlit" / "config.toml").read_text(encoding="utf-8"))[
        "browser"]["gatherUsageStats"]
    held = {path.relative_to(inside / "assets") for path in (inside / "assets").rglob("*") if path.is_file()}
    assert held == {path.relative_to(ROOT / "assets") for path in (ROOT / "assets").rglob("*") if path.is_file()}
    assert (tmp_path / "lib" / "viz" / "lecture.css").exists() and (inside / "py.typed").exists()
