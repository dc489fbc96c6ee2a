"""mypy, as pyproject.toml sets it."""
import subprocess
import sys
from pathlib import Path


def test_mypy_finds_nothing_to_complain_of(tmp_path):
    told = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)], cwd=Path(__file__).parent.parent, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[-4000:] + told.stderr[-1000:]
