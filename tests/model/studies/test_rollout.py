"""Rollout compared with a product by hand, flow with a linear programme."""
import numpy as np
import pytest
from scipy.optimize import linprog

from clearhead.model.studies import rollout


def weights(layers: int, tokens: int, causal: bool, seed: int) -> list[np.ndarray]:
    """Softmax weights of two heads a layer, float32 (head, query, key)."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(layers):
        scores = rng.normal(0, 3, (2, tokens, tokens))
        if causal:
            scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
        raised = np.exp(scores - scores.max(-1, keepdims=True))
        found.append((raised / raised.sum(-1, keepdims=True)).astype(np.float32))
    return found


def test_lengths_are_averaged_over_the_rows_asked_about():
    made, values, rows = weights(1, 4, True, 2)[0], np.random.default_rng(3).normal(size=(2, 4, 5)), [0, 0.25, 0, 0.75]
    summed = np.einsum("hqk,hkd->qkd", made, values)
    found = rollout.by_stage(made, values, None, np.array(rows))
    np.testing.assert_allclose(found["norm"], np.array(rows) @ np.linalg.norm(summed, axis=-1))
    alone = [[sum(row * np.linalg.norm(made[h, q, k] * values[h, k]) for q, row in enumerate(rows)) for k in range(4)]
             for h in range(2)]
    np.testing.assert_allclose(rollout.by_head(made, values, np.array(rows)), alone)


def test_rollout_equals_the_product_by_hand():
    first = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]])   # heads' mean: [[1, 0], [.3, .7]]
    second = np.array([[[1.0, 0.0], [0.8, 0.2]]])
    one, other = (rollout.with_residual(each) for each in (first, second))
    np.testing.assert_allclose(one, [[1, 0], [0.15, 0.85]])
    np.testing.assert_allclose(other, [[1, 0], [0.4, 0.6]])
    np.testing.assert_allclose(rollout.rollout([one, other]), [[1, 0], [0.4 + 0.6 * 0.15, 0.6 * 0.85]])
    steps = [rollout.with_residual(each) for each in weights(4, 5, False, 1)]
    np.testing.assert_allclose(rollout.rollout(steps), steps[3] @ steps[2] @ steps[1] @ steps[0], atol=1e-14)
    np.testing.assert_allclose(rollout.rollout(steps).sum(1), 1)


def by_programme(steps: list[np.ndarray], rows: np.ndarray, sink: int) -> float:
    """The same maximum flow as a linear programme: one variable an edge, what enters a token leaves it."""
    tokens = len(rows)
    edges = [(("source",), (len(steps), token), rows[token]) for token in range(tokens)]
    edges += [((layer + 1, query), (layer, key), step[query, key]) for layer, step in enumerate(steps)
              for query in range(tokens) for key in range(tokens)]
    inner = [(layer, token) for layer in range(len(steps) + 1) for token in range(tokens)
             if (layer, token) != (0, sink)]
    balance = np.array([[(end == node) - (start == node) for start, end, _ in edges] for node in inner], float)
    gain = np.array([-float(end == (0, sink)) for _, end, _ in edges])
    found = linprog(gain, A_eq=balance, b_eq=np.zeros(len(inner)), bounds=[(0, size) for *_, size in edges],
                    method="highs")
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize(("layers", "tokens", "causal", "seed"),
                         [(1, 4, False, 0), (2, 5, False, 1), (3, 6, True, 2), (5, 4, True, 3)])
def test_flow_equals_the_optimum_of_a_linear_programme(layers, tokens, causal, seed):
    steps = [rollout.with_residual(each) for each in weights(layers, tokens, causal, seed)]
    mean = np.full(tokens, 1 / tokens)
    for rows in (np.eye(tokens)[-1], mean):
        expected = [by_programme(steps, rows, sink) for sink in range(tokens)]
        np.testing.assert_allclose(rollout.flow(steps, rows), expected, atol=2e-8)
