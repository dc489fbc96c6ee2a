"""A real cluster of Ray on this machine: the same bytes, also when one of its workers is killed."""
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from model.core.query import UserError
from model.studies.atlas.on_ray import on_ray
from model.studies.atlas.worker import Task

ROOT = Path(__file__).parents[4]
TEXTS = [f"The animal number {number} did not cross the street, as it was number {number}." for number in range(70)]


def command(corpus: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "model", "atlas", "build", str(corpus), "--model", "scratch", "--out", str(out),
            *more]


def worker_of(process: subprocess.Popen) -> psutil.Process:
    """An actor of the cluster that a process has started, as soon as there is one: a busy machine takes its time, so
    nothing but the end of the process ends the wait."""
    while process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                if any("ray::RemoteWorker" in part for part in child.cmdline()):
                    return child
            except psutil.Error:
                pass   # it has just ended
        time.sleep(0.05)
    pytest.fail(f"the build ended: {process.communicate()[1].decode()}")


def test_ray_gives_the_bytes_of_one_process_also_when_a_worker_is_killed(tmp_path):
    corpus = tmp_path / "mine.txt"
    corpus.write_text("\n".join(TEXTS), encoding="utf-8")
    with subprocess.Popen(command(corpus, tmp_path / "ray", "--on", "ray", "--workers", "1"), cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        worker_of(process).kill()
        subprocess.run(command(corpus, tmp_path / "here"), cwd=ROOT, capture_output=True, check=True)
        out, errors = process.communicate()
    assert process.returncode == 0, errors.decode()
    assert b"A worker on Ray ended; its texts (mine.txt from line 1) are computed again." in errors
    assert b"1 shards were computed again" in out
    files = sorted((tmp_path / "here").glob("*.parquet"))
    assert len(files) == 6 and all(file.read_bytes() == (tmp_path / "ray" / file.name).read_bytes() for file in files)


def test_without_ray_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="pip install -r requirements-ray"), on_ray(
            lambda task: None, Task("scratch", "0"), 1, lambda sentence: None, None):
        pass
