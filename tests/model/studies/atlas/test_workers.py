"""Shards arrive in order, wherever they are computed, with the same bytes as in one process."""
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from clearhead.model.core.query import UserError
from clearhead.model.studies.atlas import workers
from clearhead.model.studies.atlas.build import ShardTask, ShardWorker
from clearhead.model.studies.atlas.workers import summaries

ROOT = Path(__file__).parents[4]
MODEL = "resolver-narrow"


def refusing(task: ShardTask) -> ShardWorker:
    raise UserError("This model is not here; fetch it.")


def dying(task: ShardTask) -> ShardWorker:
    os._exit(9)


def echoing(task: ShardTask) -> ShardWorker:
    return str


def test_shards_come_in_order_and_not_far_ahead():
    taken = []

    def shards():
        for number in range(9):
            assert number - len(taken) < workers.AHEAD
            yield number

    for found in summaries(shards(), echoing, ShardTask(MODEL, "0"), "processes", 1):
        taken.append(found)
    assert taken == list("012345678")


@pytest.mark.parametrize(("opener", "sentence"), [(refusing, "This model is not here"), (dying, "A worker died")])
def test_refusing_or_dead_worker_gives_one_sentence(opener, sentence):
    with pytest.raises(UserError, match=sentence):
        list(summaries(iter("ab"), opener, ShardTask(MODEL, "0"), "processes", 1))


@pytest.mark.rest
def test_killed_processes_resume_to_the_same_bytes(tmp_path):
    texts = (f"The animal number {number} did not cross the street, as it was number {number}." for number in range(70))
    (tmp_path / "mine.txt").write_text("\n".join(texts), encoding="utf-8")
    plain = [sys.executable, "-m", "model", "atlas", "build", str(tmp_path / "mine.txt"), "--model", MODEL, "--out"]
    asked = [*plain, str(tmp_path / "out"), "--on", "processes", "--workers", "2"]
    with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while len(children := psutil.Process(process.pid).children(recursive=True)) < 2:
            time.sleep(0.05)
        process.kill()
    psutil.wait_procs(children, 60)
    assert not any(child.is_running() for child in children)   # nothing is left behind
    for command in ([*plain, str(tmp_path / "here")], asked):
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).glob("*.parquet")}
                  for name in ("here", "out"))
    assert one == other and len(one) == 6
