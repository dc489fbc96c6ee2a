"""The command line with files and pipes in a code page that lacks most characters, as on Windows."""
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rest   # each command begins with an import of torch
ROOT = Path(__file__).parents[3]
TEXT = "今天 it was 😀."


def ran(*words: str) -> str:
    """Return what a command prints into a pipe under code page 1252. Fails if the command does."""
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, timeout=300,
                          env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    return done.stdout.decode("utf-8")


def test_any_text_can_be_asked_through_a_pipe():
    said = json.loads(ran("model", "ask", "--model", "minilm", "--text", TEXT, "--json"))
    assert "天" in said["maps"][0]["queries"] and said["verification"]["status"] == "verified"


def test_file_and_export_accept_any_name(tmp_path):
    file, picture = tmp_path / "评论 😀.csv", tmp_path / "头 😀.svg"
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([["text"], ["abcabc"]])
    out = str(tmp_path / "图 😀")
    assert out in ran("model", "atlas", "build", str(file), "--model", "induction", "--out", out)
    assert str(picture) in ran("viz", "export", "--model", "induction", "--text", "abcabc", "--out", str(picture))
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


