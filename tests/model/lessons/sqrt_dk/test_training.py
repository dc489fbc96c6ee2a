"""Three trainings from one start: they differ in the divisor and in nothing else."""
import numpy as np
import pytest
import torch

from model.core.threads import one_thread
from model.lessons import scores, sqrt_dk


@pytest.fixture(scope="module")
def wide():
    told = []
    with one_thread():
        found = sqrt_dk.run(sqrt_dk.TrainingQuery(64, 1), lambda share, text: told.append(share))
    return found, told


def test_undivided_the_model_learns_less_and_by_d_k_as_much(wide):
    found, told = wide
    assert found.end("none") < 0.95 < 0.99 < min(found.end("root"), found.end("width"))
    assert min(told) >= 0 and max(told) <= 1 and told == sorted(told)


def test_the_film_begins_at_the_start_and_ends_at_the_trained_weights(wide):
    found, _ = wide
    part = {name: each.detach() for name, each in scores.start(64, 1).items()}
    for which, divided_by in (("none", 1.0), ("root", 8.0), ("width", 64.0)):
        assert sqrt_dk.divisor(which, 64) == divided_by
        wanted = torch.softmax(part["query"] @ part["key"].T / divided_by, -1).numpy()
        assert found.film[which][0] == pytest.approx(wanted, abs=1e-5)
        assert found.film[which].shape == (sqrt_dk.STEPS // sqrt_dk.EVERY + 1, scores.SYMBOLS, scores.SYMBOLS)
    assert found.bits("none") < found.bits("root") < found.bits("width") <= np.log2(scores.SYMBOLS)
    assert np.diag(found.film["root"][-1]).mean() > 0.9 > np.diag(found.film["root"][0]).max()


def test_the_first_losses_are_those_that_scores_has_for_the_same_start(wide, monkeypatch):
    monkeypatch.setattr(scores, "STEPS", 5)
    with one_thread():
        for which, kind in (("none", "plain"), ("root", "scaled")):
            assert wide[0].loss[which][:5] == pytest.approx(scores.train(kind, 64, 1)[0], rel=1e-4)


def test_a_stop_ends_the_training():
    def stop(share: float, text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqrt_dk.run(sqrt_dk.TrainingQuery(4, 1), stop)
