"""Training processes started from a page, and their films."""
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import Kind, UserError
from clearhead.model.scratch.train import TrainingStep
from clearhead.model.studies.induction import InductionMeanQuery
from clearhead.model.training import processes, worker
from clearhead.model.training.processes import HeadScoresQuery, Settings

SMALL = Settings("induction", 1, 2, 3e-3, 50)
PATIENCE = 240   # seconds: a machine that does other things too starts torch slowly


@pytest.fixture
def started():
    """Start trainings that are ended and removed after the test."""
    all_of_them = []

    def start(settings):
        all_of_them.append(processes.start(settings))
        return all_of_them[-1]

    yield start
    for each in all_of_them:
        processes.end(each)


def until(training, *states) -> processes.Status:
    end = time.perf_counter() + PATIENCE
    while time.perf_counter() < end:
        training.renew()
        if (news := training.status()).state in states:
            return news
        time.sleep(0.1)
    raise AssertionError(f"still {training.status().state}: "
                         f"{(training.folder / 'errors.txt').read_text(encoding='utf-8')}")


@pytest.mark.rest
def test_training_runs_in_its_own_process(started, monkeypatch):
    training = started(SMALL)
    news = until(training, "done", "failed")
    assert (news.state, news.step, news.failure) == ("done", 50, "")
    assert [point[0] for point in news.curves] == [0, 10, 20, 30, 40] and news.curves[-1][1] < news.curves[0][1]
    film = desk.film(training.name)
    assert film.frames[0] == 0 and film.frames[-1] == 50 and film.about["config"]["decoder_layers"] == 1
    last = f"{training.name}@50"
    record = desk.ask(sources.open_query(last, "abcabc"), "test").result(PATIENCE)
    assert record[Kind.CAUSAL].layers[0].heads == 2 and record.card.title == "Trained on this page, step 50"
    traits = desk.ask(HeadScoresQuery(training.name, sources.revision(last), (0, 50)), "test").result(PATIENCE)
    assert traits.names == ("prefix", "previous") and traits.values.shape == (2, 2, 2)

    def refused(*given, **more):
        raise PermissionError(13, "Access is denied")

    with monkeypatch.context() as patched:   # while the next news are put in their place
        patched.setattr(Path, "read_text", refused)
        assert training.status() == news
    processes.end(training)
    assert not training.folder.exists()
    with pytest.raises(UserError):
        desk.film(training.name)


def test_trainings_are_bounded_and_a_killed_one_is_reported(started, monkeypatch):
    monkeypatch.setattr(processes, "LIMITS", replace(LIMITS, trainings=1))
    long = replace(SMALL, steps=6000)
    first = started(long)
    with pytest.raises(UserError, match="at a time"):
        started(long)
    first._process.kill()
    news = until(first, "failed")
    assert f"ended with code {first._process.returncode} before" in news.failure and first._process.returncode != 0
    assert news.failure.count(". ") == 0
    second = started(long)
    second.stop()
    assert second.status().state == "stopped" and not second.running


@pytest.mark.parametrize("changes", [{"task": "translator"}, {"heads": 3}, {"layers": 5}, {"steps": 10**6},
                                     {"learning_rate": float("nan")}])
def test_settings_out_of_range_are_refused(changes):
    with pytest.raises(UserError, match=r"choose|change"):
        replace(SMALL, **changes)


def test_training_ends_unwatched_or_diverging(tmp_path, monkeypatch):
    teller = worker.Teller(tmp_path)
    with pytest.raises(UserError, match="no page was watching"):
        teller(TrainingStep(1, 50, 4.0, 0.0))
    (tmp_path / "lease").touch()
    teller(TrainingStep(2, 50, 4.0, 0.0))
    with pytest.raises(UserError, match="smaller learning rate"):
        teller(TrainingStep(3, 50, float("nan"), 0.0))
    later = time.perf_counter() + processes.LEASE + 1
    monkeypatch.setattr(time, "perf_counter", lambda: later)
    with pytest.raises(UserError, match="no page was watching"):
        teller(TrainingStep(4, 50, 4.0, 0.0))
    (tmp_path / "lease").touch()
    teller(TrainingStep(5, 50, 4.0, 0.0))


def test_abandoned_training_is_removed(started):
    first: processes.Training = started(SMALL)
    first.stop()
    first.renewed -= processes.RETENTION + 1
    started(SMALL)
    assert not first.folder.exists()


def test_shipped_film_has_an_induction_head():
    film = desk.film("induction")
    assert film.guessing == pytest.approx(np.log(66)) and len(film.step) == len(film.loss) == len(film.right)
    ends = (film.frames[0], film.frames[-1])
    traits = desk.ask(HeadScoresQuery("induction", sources.revision(f"induction@{ends[1]}"), ends),
                         "test").result(120)
    prefix, previous = traits.of("prefix"), traits.of("previous")
    assert prefix[0].max() < 0.2 and prefix[1].max() > 0.9 and traits.heads[prefix[1].argmax()][1] == 1
    assert previous[1].max() > 0.7 and traits.heads[previous[1].argmax()][1] == 0
    assert "induction" in desk.films()


def test_scores_are_offered_for_decoders(smollm2):
    found = desk.ask(InductionMeanQuery("induction", sources.revision("induction"), 3), "test").result(120)
    best = int(found.prefix.argmax())
    assert found.heads[best][0] == 1 and found.copying[best] > 0.5 and found.prefix[best] > 10 * found.uniform
    large = desk.ask(InductionMeanQuery(smollm2, sources.revision(smollm2), 1), "test").result(240)
    assert len(large.heads) == 270 and large.prefix.max() > 0.8 and large.copying is None
    with pytest.raises(UserError, match="choose a decoder"):
        desk.ask(InductionMeanQuery("minilm", sources.revision("minilm"), 1), "test").result(120)


def test_loss_drop_step():
    step = np.arange(0, 1000, 10, dtype=np.float32)
    loss = np.where(step < 600, 4, 0).astype(np.float32)
    assert abs(processes.loss_drop_step(processes.Film((), step, loss, loss, {})) - 600) <= 10
    assert processes.loss_drop_step(processes.Film((), step, np.ones(100), loss, {})) is None
    assert processes.loss_drop_step(processes.Film((), step[:5], loss[:5], loss[:5], {})) is None
