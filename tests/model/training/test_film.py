"""Films: what is read is what was written; moments on curves whose truth is known."""
import numpy as np
import pytest

from model.ask import sources
from model.core.query import UserError
from model.studies.induction import InductionMeanQuery
from model.training.processes import Film, HeadScoresQuery, emergence_interval, loss_drop_step

ABOUT = {"config": {"vocabulary": 66}}


def test_a_head_forms_where_its_score_stays_above_one_half():
    steps = (0, 10, 20, 30, 40)
    assert emergence_interval(steps, np.array([0, 0.6, 0.1, 0.7, 0.9])) == (20, 30)
    assert emergence_interval(steps, np.array([0, 0.1, 0.2, 0.3, 0.4])) is None
    assert emergence_interval(steps, np.array([0.5, 0.6, 0.7, 0.8, 0.9])) is None


def test_the_fall_is_where_a_step_steps_down():
    step = np.arange(0, 1000, 10, dtype=np.float32)
    loss = np.where(step < 600, 4, 0).astype(np.float32)
    assert abs(loss_drop_step(Film((), step, loss, loss, ABOUT)) - 600) <= 10
    assert loss_drop_step(Film((), step, np.ones(100), loss, ABOUT)) is None
    assert loss_drop_step(Film((), step[:5], loss[:5], loss[:5], ABOUT)) is None


def test_the_shipped_film_shows_an_induction_head_appear_when_the_loss_falls():
    film = sources.film("induction")
    assert film.guessing == pytest.approx(np.log(66)) and len(film.step) == len(film.loss) == len(film.right)
    ends = (film.frames[0], film.frames[-1])
    traits = sources.ask(HeadScoresQuery("induction", sources.revision(f"induction@{ends[1]}"), ends),
                         "test").result(120)
    prefix, previous = traits.of("prefix"), traits.of("previous")
    assert prefix[0].max() < 0.2 and prefix[1].max() > 0.9 and traits.heads[prefix[1].argmax()][1] == 1
    assert previous[1].max() > 0.7 and traits.heads[previous[1].argmax()][1] == 0
    assert "induction" in sources.films()


def test_the_scores_are_offered_for_any_decoder_and_refused_for_others(smollm2):
    found = sources.ask(InductionMeanQuery("induction", sources.revision("induction"), 3), "test").result(120)
    best = int(found.prefix.argmax())
    assert found.heads[best][0] == 1 and found.copying[best] > 0.5 and found.prefix[best] > 10 * found.uniform
    large = sources.ask(InductionMeanQuery(smollm2, sources.revision(smollm2), 1), "test").result(240)
    assert len(large.heads) == 270 and large.prefix.max() > 0.8 and large.copying is None
    with pytest.raises(UserError, match="choose a decoder"):
        sources.ask(InductionMeanQuery("minilm", sources.revision("minilm"), 1), "test").result(120)
