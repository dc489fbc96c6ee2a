"""The experiments on √d_k compared with closed forms, torch and transformers' T5."""
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from clearhead.model.core import heads
from clearhead.model.core.torch_runs import one_thread
from clearhead.model.lessons import scores, sqrt_dk
from tests.fabricate import layer


def test_dots_and_weights_equal_numpy_and_scipy():
    queries, keys, dots = sqrt_dk.rows_of(16, 7, 2)
    for place in ((0, 0), (3, 1), (199, 4)):
        assert dots[place] == pytest.approx(keys[place[0]].astype(float) @ queries[place].astype(float), abs=1e-4)
        assert sqrt_dk.weights_of(dots, 4.0)[place] == pytest.approx(special.softmax(dots[place] / 4), abs=1e-12)


def test_division_does_not_prevent_overflow():
    _, _, dots = sqrt_dk.rows_of(4096, 64, 0)
    for width, share in ((512, 0.0031), (1024, 0.164), (2048, 0.801), (4096, 0.996)):
        drawn = [sqrt_dk.rows_of(width, 64, seed)[2].max(-1) > sqrt_dk.FLOAT32_END for seed in range(4)]
        assert sqrt_dk.overflow_share(width, 64) == pytest.approx(share, rel=0.01)
        assert sqrt_dk.overflow_share(width, 64) == pytest.approx(np.mean(drawn), abs=0.03)
    assert sqrt_dk.overflow_share(4096, 64, 64.0) == 0 and sqrt_dk.overflow_share(4096, 64, 64 / sqrt_dk.GROWN) > 0.9
    assert np.isfinite(sqrt_dk.weights_of(sqrt_dk.GROWN * dots, 1.0)).all()
    assert abs(sqrt_dk.FLOAT32_END - 88.7228) < 1e-4


def test_medians_cross_where_their_power_laws_do():
    width = np.array(sqrt_dk.WIDTHS, float)[:, None]
    found = SimpleNamespace(gradient={"plain": 100 * width**-2.0, "scaled": width**-1.0})
    assert sqrt_dk.crossing(found) == pytest.approx(100)
    assert sqrt_dk.crossing(SimpleNamespace(gradient={"plain": width, "scaled": width / 2})) is None


def test_real_head_with_its_own_scale():
    real = layer(queries=7, keys=11)
    found = sqrt_dk.head_scale(real, 4)
    own = heads.weights(real, 4).astype(float)
    assert found.entropy["own"] == pytest.approx(-(own * np.log2(np.maximum(own, 1e-30))).sum(1), abs=1e-4)
    assert found.divisor == pytest.approx(1 / 1.7) and found.absorbed < 1e-9
    dots = real.query[4].astype(float) @ real.key[2].astype(float).T     # query head 4 of 6 uses key head 2 of 3
    undone = special.softmax(dots, axis=1)
    assert found.entropy["undone"] == pytest.approx(-(undone * np.log2(undone)).sum(1), abs=1e-5)
    assert found.measured == pytest.approx(dots.std())
    squares = [np.square(each.astype(float)).mean() for each in (real.query[4], real.key[2])]
    assert found.predicted == pytest.approx(np.sqrt(real.query.shape[2] * np.prod(squares)))


@pytest.fixture(scope="module")
def wide():
    told = []
    with one_thread():
        found = sqrt_dk.run(sqrt_dk.TrainingQuery(64, 1), lambda share, text: told.append(share))
    return found, told


def test_undivided_scores_learn_less(wide):
    found, told = wide
    assert found.end("none") < 0.95 < 0.99 < min(found.end("root"), found.end("width"))
    assert min(told) >= 0 and max(told) <= 1 and told == sorted(told)


def test_rows_before_training_have_the_initial_entropy(wide):
    found, _ = wide
    part = {name: each.detach() for name, each in scores.start(64, 1).items()}
    for which, divided_by in (("none", 1.0), ("root", 8.0), ("width", 64.0)):
        rows = special.softmax((part["query"] @ part["key"].T / divided_by).numpy(), -1)
        assert found.bits(which) == pytest.approx(stats.entropy(rows, base=2, axis=-1).mean(), abs=1e-4)


def test_output_of_unit_values_is_the_root_of_the_summed_squares():
    found, (_, dots) = sqrt_dk.numbers_at(512, 64, 0), sqrt_dk.at_width(512, 64, 0, "normal")
    for which, divisor in (("plain", 1), ("scaled", 512**0.5)):
        weights = special.softmax(dots / divisor, -1)
        assert found[f"spread_{which}"] == pytest.approx(dots.std() / divisor)
        assert found[f"output_{which}"] == pytest.approx(np.sqrt((weights**2).sum(-1).mean()), rel=0.05)


def test_dots_have_variance_d_k():
    """Footnote 4 of the paper. 1,000 rows: the variance's own error is about √(2/1000) of it."""
    _, _, dots = sqrt_dk.rows_of(64, 41, 1)
    assert dots.size == 1000 * 41
    assert dots.mean() == pytest.approx(0, abs=0.3) and dots.var() == pytest.approx(64, rel=0.15)
