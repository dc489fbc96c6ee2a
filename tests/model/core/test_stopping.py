"""A pass stops before its next layer when nobody waits for its answer, whatever the question."""
import functools
import itertools
import re

import pytest

from clearhead.model.core.query import Kind, Patch, Query, quiet
from clearhead.model.core.torch_runs import Cancelled, stoppable
from clearhead.model.lessons.pronoun_choice import DecisionQuery, DecisionSetQuery
from clearhead.model.pretrained import load
from clearhead.model.scratch import source
from clearhead.model.studies.atlas.build import CorpusText, ShardTask, ShardWorker
from clearhead.model.studies.attribution import AttributionQuery
from clearhead.model.studies.patching import PatchQuery
from clearhead.model.studies.predictions import LikelihoodQuery, NextWordQuery, log_probability
from tests.model import tiny
from tests.model.only import Only

TEXT = "the animal didn ' t cross the street because it was too tired"
OTHER = "the animal didn ' t cross the street because it was too wide"


class Look:
    """Count the layers about to run, and stop the pass at one of them."""

    def __init__(self, last):
        self.count, self.last = 0, last

    def __call__(self):
        self.count += 1
        if self.count >= self.last:
            raise Cancelled


def query(model, text=TEXT, **more):
    return Query(model.card.id, model.card.revision, text, **more)


def questions(kind, report=quiet):
    """Return {name: function of a model} for every way in which a question runs one."""
    return {
        "record": lambda model: model.record(query(model), report),
        "patched record": lambda model: model.record(
            query(model, edits=frozenset([Patch(kind, 0, 0, query(model, OTHER))])), report),
        "trace": lambda model: model.trace(query(model), report),
        "next word": lambda model: NextWordQuery(query(model)).answer(Only(model), report),
        "span": lambda model: log_probability(model, query(model), (4, 10)),
        "likelihood": lambda model: LikelihoodQuery(query(model)).answer(Only(model), report),
        "patching": lambda model: PatchQuery(query(model), query(model, OTHER), kind).answer(Only(model), report),
        "attribution": lambda model: AttributionQuery(query(model)).answer(Only(model), report),
        "corpus": lambda model: ShardWorker(ShardTask(model.card.id, model.card.revision), model)(
            (CorpusText(0, "a.txt", 1, TEXT), CorpusText(1, "a.txt", 2, OTHER))),
        "decision": lambda model: DecisionQuery(
            model.card.id, model.card.revision, "The cat saw it .").answer(Only(model), report),
        "decisions": lambda model: DecisionSetQuery(
            model.card.id, model.card.revision, 1).answer(Only(model), report)}


ASKED = [*(("gpt2", Kind.CAUSAL, name) for name in ("record", "patched record", "trace", "next word",
                                                     "span", "likelihood", "patching", "attribution", "corpus")),
         *(("bert", Kind.SELF, name) for name in ("span", "attribution")),
         ("t5", Kind.CROSS, "record"), ("bloom", Kind.CAUSAL, "record"),
         *(("resolver-wide", Kind.SELF, name) for name in ("record", "patched record", "trace",
                                                           "patching", "attribution", "corpus")),
         *(("translator", Kind.CROSS, name) for name in ("record", "likelihood", "decision", "decisions"))]


OURS = functools.cache(lambda name: source.locate(name).open(quiet))


@pytest.mark.parametrize(("name", "kind", "asked"), ASKED)
def test_no_layer_runs_after_a_stop(opened, name, kind, asked):
    model = OURS(name) if name in ("resolver-wide", "translator") else opened(name)
    ask = questions(kind)[asked]
    whole = Look(last=10**9)
    with stoppable(whole):
        ask(model)
    for last in {1, whole.count // 2, whole.count}:
        look = Look(last)
        with stoppable(look), pytest.raises(Cancelled):
            ask(model)
        assert look.count == last
    assert whole.count >= 2


@pytest.mark.parametrize(("name", "kind", "asked"), [each for each in ASKED if each[2] in (
    "patching", "attribution", "decisions", "likelihood")])
def test_progress_rises_within_each_part(opened, name, kind, asked):
    told = []
    model = OURS(name) if name in ("resolver-wide", "translator") else opened(name)
    questions(kind, lambda fraction, text: told.append((text, fraction)))[asked](model)
    parts = [[fraction for _, fraction in part] for _, part in itertools.groupby(
        told, lambda each: re.sub(r"\d+", "", each[0]))]
    assert parts and all(part == sorted(part) and part[0] >= 0 and part[-1] <= 1 for part in parts), told


def test_opening_and_verifying_can_be_stopped(opened, tmp_path):
    folder = tiny.save(tmp_path / "mine", "gpt2")
    look = Look(last=2)
    with stoppable(look), pytest.raises(Cancelled):
        load.locate(str(folder)).open(quiet)
    assert look.count == 2 and load.locate(str(folder)).open(quiet).wiring is not None
