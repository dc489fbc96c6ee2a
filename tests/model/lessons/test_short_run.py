"""The short run: its loss is torch's own, its batches teach what they say, and each setting does what its name says."""
import numpy as np
import pytest
import torch
from torch.nn import functional

from model.ask import sources
from model.core.threads import Cancelled
from model.lessons import learning
from model.lessons.learning import RunQuery, floor


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(learning, "STEPS", 20)
    learning.trained_plainly.cache_clear()
    yield
    learning.trained_plainly.cache_clear()


def test_the_first_loss_is_torchs_cross_entropy_with_and_without_its_smoothing():
    ids, places, nouns, _ = learning.sentences(1, 0)
    with torch.no_grad():
        logits = learning.at_it(learning.untrained_model(1), ids, places)
    assert learning.run(RunQuery()).loss[0] == pytest.approx(functional.cross_entropy(logits, nouns).item(), rel=1e-5)
    smooth = learning.run(RunQuery("smooth", 0.2, "all"))
    assert smooth.loss[0] == pytest.approx(functional.cross_entropy(logits, nouns, label_smoothing=0.2).item(),
                                           rel=1e-5)
    assert smooth.floor == pytest.approx(floor(logits.shape[-1], 0.2, "all"), rel=1e-4)


def test_it_stands_at_the_place_that_is_asked_and_its_noun_in_the_sentence():
    from model.scratch.tasks.resolver import WORDS

    ids, places, nouns, others = learning.sentences(1, 3)
    assert {WORDS[row[place]] for row, place in zip(ids, places, strict=True)} == {"it"}
    for row, noun, other in zip(ids.tolist(), nouns.tolist(), others.tolist(), strict=True):
        assert noun in row and other in row and noun != other


def test_it_learns_and_the_same_question_has_the_same_answer():
    first, again = learning.run(RunQuery(warm_up=15)), learning.run(RunQuery(warm_up=15))
    assert (first.loss == again.loss).all() and (first.right == again.right).all()
    assert first.nats[-1] < first.nats[0] and len(first.loss) == 20 and list(first.tested) == [0, 10, 20]
    assert not first.floor.any()


def test_fine_tuning_begins_where_the_plain_run_ended_and_a_fresh_start_does_not():
    tuned, fresh = learning.run(RunQuery("other")), learning.run(RunQuery("other", fresh=True))
    assert tuned.nats[0] < fresh.nats[0] - 0.1


def test_a_teacher_leaves_a_floor_that_no_student_gets_under():
    run = learning.run(RunQuery("teacher"))
    assert (run.floor > 0).all() and (run.loss >= run.floor - 1e-5).all()


def test_clipping_changes_the_way_only_where_a_gradient_is_longer():
    free, wide = learning.run(RunQuery()), learning.run(RunQuery(clip=1e6))
    assert (free.loss == wide.loss).all()
    tight = learning.run(RunQuery(clip=0.01))
    assert tight.loss[0] == free.loss[0] and (tight.loss[2:] != free.loss[2:]).any()


def test_it_is_asked_like_anything_else_and_stops_when_nobody_waits():
    answer = sources.ask(RunQuery(seed=3), "test").result(60)
    assert answer.nbytes > 0 and np.isfinite(answer.loss).all()

    def leave(fraction, text):
        raise Cancelled

    with pytest.raises(Cancelled):
        learning.run(RunQuery(seed=4), leave)
