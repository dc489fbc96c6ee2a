"""The steps of blocks that are computed with plain numpy, for every way to add to the residual stream."""
import numpy as np
import pytest

from clearhead.model.capture.stream import Passage, Vectors
from clearhead.model.core.query import Kind
from clearhead.model.core.traces import AttentionOutput, Norm

T, D = 9, 12
RNG = np.random.default_rng(5)


def numbers(*shape):
    return RNG.normal(size=shape or (T, D)).astype(np.float32)


def norm(x):
    """RMSNorm with gain 1, whose multiples are easily taken for sums."""
    x = x.astype(np.float32)
    return Norm("norm", "rms", x, (x / np.sqrt((x * x).mean(-1, keepdims=True))).astype(np.float32),
                np.ones(D, np.float32), None, 0.0)


def attention(output):
    return AttentionOutput(Kind.SELF, 0, numbers(1, 1, D), None, output, None, "")


def steps(before, output, others, read, after, norms=()):
    made = tuple(Vectors(2 + place, each) for place, each in enumerate(others))[::-1]
    read = tuple(Vectors(9 + place, each.astype(np.float32)) for place, each in enumerate((*read, after)))
    return Passage(before, after.astype(np.float32), (attention(output),), (1,), norms, read, made).steps()


CHANNELS = numbers(1, D)


@pytest.mark.parametrize(("keep", "factor"), [(1, 1), (1, 0.22), (1, CHANNELS), (2.5, 1), (0.3, 0.7), (CHANNELS, 1)])
def test_factors_are_measured(keep, factor):
    x, a, m = numbers(), numbers(), numbers()
    middle = keep * x + factor * a
    first, second = steps(x, a, [m, middle.astype(np.float32), numbers()], [norm(middle).input], middle + 0.5 * m,
                          (norm(x), norm(middle)))
    np.testing.assert_allclose(np.broadcast_to(first.factor, (T, D)), np.broadcast_to(factor, (T, D)), rtol=1e-4)
    assert (first.scale is None) == bool(np.all(keep == 1))
    np.testing.assert_allclose(1 if first.scale is None else first.scale, keep, rtol=1e-5)
    np.testing.assert_allclose(second.wrote, 0.5 * m, atol=1e-5)


@pytest.mark.parametrize(("factor", "other"), [(1, 1), (0.4, 3.0), (CHANNELS, numbers(1, D))])
def test_parallel_layers_are_told_apart(factor, other):
    x, a, m = numbers(), numbers(), numbers()
    normed = norm(x)
    (step,) = steps(x, a, [normed.output, numbers(), m], [normed.input], x + factor * a + other * m, (normed,))
    np.testing.assert_allclose(step.added(a), factor * a, atol=1e-4)
    np.testing.assert_allclose(step.wrote, other * m, atol=1e-4)


def test_norms_behind_layers_are_not_taken_for_sums():
    x, a, m = numbers(), numbers(), numbers()
    inner, outer = norm(a), norm(m)
    middle = (x + inner.output).astype(np.float32)
    found = steps(x, a, [norm(x).output, norm(middle).output, m, outer.output],
                  [inner.input, middle, outer.input], middle + outer.output, (norm(x), inner, norm(middle), outer))
    assert [step.attention for step in found] == [0, None]
    np.testing.assert_allclose(found[0].added(a), inner.output, rtol=1e-5)
    np.testing.assert_allclose(found[1].wrote, outer.output, rtol=1e-5)


def test_sums_may_be_normalised():
    x, a, m = numbers(), numbers(), numbers()
    first = norm(x + a)
    second = norm(first.output + m)
    found = steps(x, a, [first.output, m], [first.input, second.input], second.output, (first, second))
    assert [step.norm for step in found if step.norm] == [first, second] and found[0].attention == 0


def test_silent_attention_leaves_the_stream():
    x, m = numbers(), numbers()
    found = steps(x, np.zeros((T, D), np.float32), [m], [x], x + m)
    assert found[0].attention == 0 and not found[0].added(np.zeros((T, D))).any()


def test_unknown_sums_are_not_attributed():
    x, a, m = numbers(), numbers(), numbers()
    for unknown in (np.tanh(a), a * numbers(T, 1)):   # a factor for each token
        assert steps(x, a, [m], [x + unknown], x + unknown + m) is None
    assert steps(x, a, [], [], x + a + m) is None   # nothing tells attention from the rest
    first, rest = steps(x, a, [], [x + a], x + a + m)   # but here its sum is read
    assert first.factor == pytest.approx(1) and rest.wrote == pytest.approx(m, abs=1e-5)


def test_norm_before_an_unknown_module_does_not_replace_the_stream():
    x, a, m = numbers(), numbers(), numbers()
    middle = norm(x + a)
    first, rest = steps(x, a, [middle.output], [middle.input], middle.input + m, (norm(x), middle))
    assert first.attention == 0 and rest.norm is None
    np.testing.assert_allclose(rest.wrote, m, atol=1e-5)


def test_stream_is_scaled_beside_a_module_that_returns_it():
    x, a, m = numbers(), numbers(), numbers()
    first, *_ = steps(x, a, (x, m), (2.5 * x + a,), 2.5 * x + a + m)
    assert (first.attention, first.wrote) == (0, None)
    assert np.allclose(first.scale, 2.5, atol=1e-4) and np.allclose(first.factor, 1, atol=1e-4)


@pytest.mark.parametrize(("tokens", "width"), [(2, D), (T, 4 * D)])   # too few to measure; several streams
def test_what_cannot_be_measured_has_no_steps(tokens, width):
    x, a, after = numbers(tokens, width), numbers(tokens, D), numbers(tokens, width)
    assert steps(x, a, (), (after,), after) is None
