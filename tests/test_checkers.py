"""Types and style, by mypy and ruff as pyproject.toml sets them."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("command",
                         ["ruff check --cache-dir",
                          # what is written down for a next time takes a sixth longer
                          *(f"mypy --platform {system} --no-incremental --cache-dir"
                            for system in ("linux", "darwin", "win32"))])
def test_there_is_nothing_to_complain_of(command, tmp_path):
    told = subprocess.run([sys.executable, "-m", *command.split(), str(tmp_path)], cwd=ROOT, capture_output=True,
                          encoding="utf-8")
    assert told.returncode == 0, told.stdout[-4000:] + told.stderr[-1000:]
