"""Types and style, by mypy and ruff as pyproject.toml sets them."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command", ["mypy --cache-dir", "ruff check --cache-dir"])
def test_there_is_nothing_to_complain_of(command, tmp_path):
    told = subprocess.run([sys.executable, "-m", *command.split(), str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[-4000:] + told.stderr[-1000:]
