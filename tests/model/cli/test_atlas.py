"""The command `clearhead atlas`: building, stopping, resuming and refusing."""
import json

import pytest
from click.testing import CliRunner

from clearhead.model.__main__ import main
from clearhead.model.studies.atlas import files
from clearhead.model.studies.atlas.build import ShardWorker
from clearhead.model.studies.atlas.files import PART, open_atlas

MODEL = "resolver-narrow"
TEXTS = [f"The animal number {number} was too tired, and so was number {number + 1}." for number in range(70)]


@pytest.fixture
def corpus(tmp_path):
    place = tmp_path / "mine.txt"
    place.write_text("\n".join(TEXTS), encoding="utf-8")
    return place


def build(corpus, out, *more):
    return CliRunner().invoke(main, ["atlas", "build", str(corpus), "--model", MODEL, "--out", str(out), *more])


def parquet(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_resumed_build_has_the_same_bytes(corpus, tmp_path, monkeypatch):
    assert build(corpus, tmp_path / "whole").exit_code == 0
    computed, whole = [], ShardWorker.__call__

    def stop_at_the_third(self, shard, report=None):
        computed.append(shard[0].number)
        if len(computed) == 3:
            raise KeyboardInterrupt
        return whole(self, shard)

    monkeypatch.setattr(ShardWorker, "__call__", stop_at_the_third)
    out = tmp_path / "stopped"
    stopped = build(corpus, out)
    assert stopped.exit_code == 1
    assert sorted(path.name for path in out.iterdir()) == [PART]
    resumed = build(corpus, out)
    assert resumed.exit_code == 0 and "64 read in an earlier run" in resumed.stdout
    assert computed == [0, 32, 64, 64] and parquet(out) == parquet(tmp_path / "whole") and len(parquet(out)) == 6
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert (run["engine"], run["texts_of_earlier_runs"]) == ("here", 64)
    assert run["command"].startswith("clearhead") and not (out / PART).exists()
    assert "already holds this atlas" in build(corpus, out).stdout and len(computed) == 4


def test_second_build_into_a_folder_waits(corpus, tmp_path):
    out = tmp_path / "atlas"
    out.mkdir()
    with files.alone(out):
        assert f"Another build is writing to {out}; wait until it ends" in refused(
            "build", corpus, "--model", MODEL, "--out", out)
    assert list(out.iterdir()) == [] and build(corpus, out, "--limit", "3").exit_code == 0
    assert not (out / files.LOCK).exists() and open_atlas(out).about["texts"] == 3


def refused(*arguments):
    ran = CliRunner().invoke(main, ["atlas", *map(str, arguments)])
    assert ran.exit_code == 2 and not isinstance(ran.exception, AssertionError), ran.output
    return ran.stderr


def test_impossible_builds_give_one_sentence(corpus, tmp_path):
    out, asked = tmp_path / "atlas", ("--model", MODEL, "--out", tmp_path / "atlas")
    assert build(corpus, out, "--limit", "3").exit_code == 0
    assert "holds an atlas of resolver-narrow over another corpus" in refused("build", corpus, *asked)
    assert f"holds an atlas of {MODEL}" in refused("build", corpus, "--model", "minilm", "--out", out, "--limit", "3")
    assert "end its name in" in refused("build", __file__, *asked)
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n", encoding="utf-8")
    assert "contains no text" in refused("build", empty, "--model", MODEL, "--out", tmp_path / "other")
    assert "add --on ray" in refused("build", corpus, *asked, "--ray", "10.0.0.1:6379")
    assert "There is no complete atlas in" in refused("csv", tmp_path)
    assert "would be overwritten" in refused("build", out / "texts.parquet", *asked)
    assert "no cross attention" in refused("build", corpus, "--model", "induction", "--out", tmp_path / "cross",
                                           "--kind", "cross")
    part = tmp_path / "part" / PART
    part.parent.mkdir()
    part.write_bytes(b"something else")
    assert "was not written by an earlier run" in refused("build", corpus, "--model", MODEL, "--out", part.parent)
