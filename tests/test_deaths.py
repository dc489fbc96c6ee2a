"""Work killed at any moment leaves no partial file that is later taken for complete, and can be repeated."""
import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.model import tiny
from tests.model.hub import serve

pytestmark = pytest.mark.rest

# how often each is killed between two changes of the disk and within a file, at least: fewer mean that the hook no
# longer sees what changes the disk
DEATHS = {"file": (3, 3), "npz": (3, 2), "fetch": (8, 2), "package": (8, 2),
          "training": (4, 2), "atlas": (8, 2)}


@pytest.fixture(scope="module")
def deaths(tmp_path_factory):
    """For each case, how often it was killed and what was wrong."""
    folder = tmp_path_factory.mktemp("deaths")
    model = tiny.save(folder / "original", "llama")
    with serve({path.name: path.read_bytes() for path in model.iterdir()}) as hub:
        ran = subprocess.run([sys.executable, "-m", "tests.deaths", str(folder), f"http://127.0.0.1:{hub.server_port}"],
                             cwd=ROOT, capture_output=True, encoding="utf-8",
                             env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1]), ran.stderr


@pytest.mark.parametrize("case", DEATHS)
def test_killed_process_leaves_nothing_partial_and_can_rerun(deaths, case):
    results, said = deaths
    (between, within), wrong = results[case]
    assert wrong == [], said[-2000:]
    assert between >= DEATHS[case][0] and within >= DEATHS[case][1]
