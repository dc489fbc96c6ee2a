"""The figures of the tasks and the page made of them, on models that have hardly been trained."""
from dataclasses import replace

import pytest

from benchmarks import tasks as benchmark
from benchmarks import tasks_table
from model.core.threads import one_thread
from model.scratch import lexicon, task
from model.scratch.train import train

SCORES = dict.fromkeys(("loss_unseen", "right_unseen", "loss_longer", "right_longer"), 0.25)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    for each in task.tasks().values():
        train(replace(each, score=lambda model: SCORES), folder, steps=2)
    with one_thread():
        return benchmark.content(folder, size=12, steps=2, decoders=[])


def test_the_figures_are_shares_of_what_was_asked(found):
    frames = {frame.name for frame in lexicon.FRAMES}
    assert set(found["positions"]["nearest"]) == frames
    assert all(first + found["positions"]["nearest"][frame] == pytest.approx(1)
               for frame, first in found["positions"]["first"].items())
    for name, heads in (("resolver-narrow", 1), ("resolver-wide", 4)):
        told = found[name]["heads"]
        assert [(each["layer"], each["head"]) for each in told] == [(layer, head) for layer in range(2)
                                                                    for head in range(heads)]
        assert all(sum(map(sum, each["table"])) == 12 and sum(each["table"][0]) == 6 for each in told)
    assert found["translator"]["swapped"]["every word"] >= found["translator"]["swapped"]["it"]


def test_every_row_of_the_page_is_as_wide_as_its_table(found):
    lines = tasks_table.page(found
                             | {"decoders": {"smollm2": [{"head": "3·4", "previous": 0.25,
                                                          "prefix": 0.5}]}}).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    widths = {}
    for i, line in enumerate(lines):
        if line.startswith("| ---"):
            widths[i] = line.count("|")
            assert lines[i - 1].count("|") == line.count("|")
        elif line.startswith("|") and lines[i - 1].startswith("|"):
            assert line.count("|") == (lines[i + 1] if lines[i + 1].startswith("| ---") else lines[i - 1]).count("|")
    assert len(widths) == 18 and len(tables) > 80
    assert "| 3·4 | 0.250 | 0.500 |" in tables
    assert f"exactly right by greedy decoding: {found['translator']['exact']:.3f}" in "\n".join(lines)
