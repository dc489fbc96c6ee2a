"""Run a small class on a real server: two sessions over WebSockets, and one that trains."""
import json
import subprocess
import sys

import pytest

from benchmarks.classroom import by_chance, ratio
from tests.conftest import ROOT


@pytest.mark.rest
def test_two_sessions_get_their_own_answers(tmp_path):
    file = tmp_path / "class.json"
    command = [sys.executable, "-m", "benchmarks.classroom", "--sessions", "2", "--browsers", "0", "--long", "0",
               "--questions", "1", "--minutes", "0.05", "--json", str(file)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=300, encoding="utf-8")
    assert file.exists(), ran.stdout + ran.stderr
    told = json.loads(file.read_text(encoding="utf-8"))
    bars = {bar["bar"]: bar for bar in told["bars"]}
    assert [len(person["questions_s"]) for person in told["people"]] == [1, 1, 0], ran.stdout
    sound = [bar for name, bar in bars.items()
             if name.startswith(("errors", "answers", "pictures", "computations", "sessions"))]
    assert len(sound) == 5 and all(bar["met"] for bar in sound), ran.stdout
    assert sum(len(person["heads_s"]) for person in told["people"]) >= 2 and len(told["memory_mb"]) > 3


def test_chance_is_distinguished_from_worse_service():
    alike = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]]
    assert ratio(alike) == 1 and by_chance(alike, 200)[1] == 1
    worse = [[0.1] * 10, [0.1] * 10, [0.1] * 10, [0.9] * 10]
    usual, share = by_chance(worse, 200)
    assert ratio(worse) == 9 and usual < 9 and share < 0.05
