"""Ranges of heads against scipy's angles, what is orthogonal and what is equal; slices against the definition."""
import numpy as np
import pytest
from scipy.linalg import orth, subspace_angles

from model.ask import sources
from model.core import heads
from model.core.models import TraceQuery
from model.core.query import Kind, UserError
from model.core.trace import Projection
from model.lessons import information

TEXT = "The animal didn't cross the street because it was too tired."


def ask(question):
    return sources.ask(question, "test").result(120)


@pytest.fixture(scope="module", params=[("minilm", Kind.SELF, 3), ("translator", Kind.CROSS, 1)])
def traced(request):
    model, kind, layer = request.param
    query = sources.open_query(model, TEXT)
    return (ask(query)[kind].layer(layer), ask(TraceQuery(query)).attention(kind, layer),
            ask(information.SubspacesQuery(query, kind, layer)))


def test_angles_of_a_models_heads_are_scipys(traced):
    _, attention, found = traced
    weights = attention.query.weight.astype(float)
    count = len(weights)
    pairs = [(one, other) for one in range(count) for other in range(one + 1, count)]
    for place in (0, len(pairs) // 2, -1):
        wanted = np.sort(subspace_angles(weights[pairs[place][0]], weights[pairs[place][1]]))
        assert found.ranges["query"].angles[place] == pytest.approx(wanted, abs=1e-6)
        overlap = np.linalg.norm(orth(weights[pairs[place][0]]).T @ orth(weights[pairs[place][1]])) ** 2
        assert found.ranges["query"].overlap[place] == pytest.approx(overlap / weights.shape[2])
    assert found.ranges["query"].together == np.linalg.matrix_rank(np.hstack(weights).astype(np.float32))


def test_random_subspaces_overlap_by_d_k_over_d_model(traced):
    for ranges in traced[2].ranges.values():
        chance = ranges.width / traced[2].d_model
        assert (np.cos(ranges.random) ** 2).mean() == pytest.approx(chance, rel=0.05)


def test_slices_are_orthogonal_equal_ranges_are_not_apart_and_a_scale_changes_nothing():
    rng = np.random.default_rng(1)
    whole = rng.standard_normal((3, 30, 10))
    cut = information.sliced(Projection(whole.astype(np.float32), None)).weight
    assert np.degrees(information.ranges(cut).angles) == pytest.approx(90)
    assert information.ranges(cut).together == 30 and not cut[0, 10:].any()
    assert (cut[1, 10:20] == whole[1, 10:20].astype(np.float32)).all()
    same = np.stack([whole[0], whole[0] @ rng.standard_normal((10, 10)), 7 * whole[0]])
    assert information.ranges(same).overlap == pytest.approx(1) and information.ranges(same).together == 10
    assert information.ranges(whole[:1]).overlap.shape == (0,)


def test_a_matrix_of_lower_rank_narrows_what_is_compared():
    whole = np.random.default_rng(2).standard_normal((2, 30, 10))
    whole[1, :, 9] = whole[1, :, 0]
    assert information.ranges(whole).width == 9


def test_the_same_matrices_give_the_same_weights_and_slices_others(traced):
    layer, attention, found = traced
    again = information.with_vectors(layer, attention, attention.query, attention.key)
    for head in range(layer.heads):
        assert heads.weights(again, head) == pytest.approx(heads.weights(layer, head), abs=2e-5)
    seen = slice(0, attention.x.shape[1] // layer.heads)
    query, key = (each[:, seen] @ part.weight[0, seen] + part.bias[0] for each, part in
                  ((attention.x, attention.query), (attention.memory, attention.key)))
    scores = (query @ key.T) * layer.scale
    rows = np.exp(scores - scores.max(1, keepdims=True))
    rows /= rows.sum(1, keepdims=True)
    moved = np.abs(rows - heads.weights(layer, 0)).sum(1).mean() / 2
    assert found.moved[0] == pytest.approx(moved, abs=1e-4)


def test_rotary_positions_turn_what_slices_leave():
    """Pairs are turned by their own angle at every place, as the vectors before and after say."""
    rng = np.random.default_rng(0)
    before, vectors = rng.standard_normal((2, 3, 5, 4))
    angles = np.arange(5)[:, None] * np.array([1.0, 0.1])

    def turn(x: np.ndarray) -> np.ndarray:
        a, b = x[..., :2], x[..., 2:]
        return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)

    found = information._turned(vectors, before, turn(before), ((0, 2), (1, 3)))
    assert found == pytest.approx(turn(vectors))


def test_heads_of_minilm_overlap_by_more_than_chance():
    """What the lesson has its readers remember."""
    query = sources.open_query("minilm", TEXT)
    for layer in (0, 5):
        found = ask(information.SubspacesQuery(query, Kind.SELF, layer))
        assert all(ranges.overlap.mean() > 1.2 * ranges.width / found.d_model for ranges in found.ranges.values())


def test_a_kind_that_only_reports_is_refused(monkeypatch):
    from types import SimpleNamespace

    record = SimpleNamespace(card=SimpleNamespace(title="It"))
    monkeypatch.setattr(information, "Layer", dict)

    class Models:
        trace = staticmethod(lambda query, report: None)

        @staticmethod
        def record(query, report):
            class Record(SimpleNamespace):
                def __getitem__(self, kind):
                    return SimpleNamespace(layer=lambda index: None)

            return Record(**vars(record))

    with pytest.raises(UserError, match="only reports its weights"):
        information.SubspacesQuery(None, Kind.SELF, 0).answer(Models(), lambda share, text: None)
