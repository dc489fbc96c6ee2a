"""Verification accepts what numpy computes, and refuses a record with any part changed."""
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.capture.forward_pass import Call, Slot
from clearhead.model.capture.verify import TOLERANCE, Wiring, check_answer
from clearhead.model.capture.verify import _compare as compare
from clearhead.model.capture.verify import _shape as shape_of
from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Dense, Full, SlidingWindow
from clearhead.model.core.memory import Shape
from clearhead.model.core.query import Kind, Silence

N, D, HEADS = 9, 5, 4
WIRED = Wiring({}, {}, 0.0, 0.0, ())
RANDOM = np.random.default_rng(5)
TRIANGLE = np.tril(np.ones((N, N), bool))
APART = np.arange(N)[:, None] * np.arange(N) > 0   # the first token sees itself alone, and no other sees it
APART[0, 0] = True
# name: (parts of the call, who may look where, bias)
CASES = {
    "full": ({}, np.ones((N, N), bool), 0.0),
    "causal": ({"allowed": Causal()}, TRIANGLE, 0.0),
    "window": ({"allowed": SlidingWindow(back=2)}, TRIANGLE & ~np.tril(np.ones((N, N), bool), -3), 0.0),
    "apart": ({"allowed": Dense(APART)}, APART, 0.0),
    "softcap": ({"softcap": 1.5}, np.ones((N, N), bool), 0.0),
    "sink": ({"sink": np.float32([0.0, 1.0, -1.0, 2.0])}, np.ones((N, N), bool), 0.0),
    "bias": ({"bias": Dense(RANDOM.normal(size=(N, N)).astype(np.float32))}, np.ones((N, N), bool), None),
}


def made(name: str, key_heads: int = HEADS) -> Call:
    """A call whose outputs are computed here, in float64 and one head at a time."""
    parts, allowed, bias = CASES[name]
    bias = parts["bias"].block(slice(0, N), slice(0, N)) if bias is None else bias
    draw = lambda heads: RANDOM.normal(size=(heads, N, D)).astype(np.float32) * 1.5
    query, key, value, rows = draw(HEADS), draw(key_heads), draw(key_heads), np.array([0, 3, N - 1])
    outputs = np.zeros((HEADS, len(rows), D))
    for head in range(HEADS):
        own = head * key_heads // HEADS
        scores = query[head].astype(np.float64) @ key[own].T / np.sqrt(D)
        cap = parts.get("softcap")
        scores = np.where(allowed, (scores if cap is None else cap * np.tanh(scores / cap)) + bias, -np.inf)
        weights = np.exp(scores)
        sink = parts.get("sink")
        total = weights.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink[head]))
        outputs[head] = (weights / total @ value[own])[rows]
    rest = {"allowed": Full(), "bias": None, "softcap": None, "sink": None} | parts
    return Call(query, key, value, 1 / np.sqrt(D), **rest, unknown=(), rows=rows, outputs=outputs.astype(np.float32))


def changed(call: Call) -> dict[str, Call]:
    """Return {change: the call with one part changed}."""
    touched = call.key.copy()
    touched[0, 2] += 0.1
    wrong = {"scale": replace(call, scale=1.0), "heads": replace(call, query=call.query[::-1].copy()),
             "a key": replace(call, key=touched), "values": replace(call, value=call.value[:, ::-1].copy()),
             "a mask": replace(call, allowed=Causal() if isinstance(call.allowed, Full) else Full()),
             "a temperature": replace(call, temperature=np.float32([1, 1, 1.2, 1]))}
    return wrong | {name: replace(call, **{name: None}) for name in ("softcap", "sink", "bias")
                    if getattr(call, name) is not None}


@pytest.mark.parametrize("key_heads", [HEADS, 2, 1])
@pytest.mark.parametrize("name", CASES)
def test_answer_with_any_part_changed_is_refused(name, key_heads):
    call = made(name, key_heads)
    right = check_answer([call], [call.layer(0)], WIRED)
    assert right.status == "verified" and right.reasons == () and right.rows_checked == HEADS * 3
    assert right.max_error < TOLERANCE / 10
    for part, wrong in changed(call).items():
        for layers in ([wrong.layer(0)], [call.layer(0), wrong.layer(1)]):
            found = check_answer([call] * len(layers), layers, WIRED)
            assert found.status == "refused" and len(found.reasons) == 1, part


@pytest.mark.parametrize("spread", [False, True])
def test_model_may_report_weights_with_the_share_of_its_sink_spread(spread):
    layer = made("sink").layer(0)
    theirs = heads.whole(layer)
    if spread:
        theirs = theirs / theirs.sum(-1, keepdims=True)
    assert max(compare(layer, theirs, 2**-23)) < TOLERANCE
    assert min(compare(layer, theirs / 2, 2**-23)) > TOLERANCE


def test_edit_that_was_not_applied_is_refused():
    calls = [replace(made("full"), module=name) for name in "ab"]
    wired = replace(WIRED, slots={(name, 0): Slot(Kind.SELF, n, name, 0, "source") for n, name in enumerate("ab")})
    layers = [call.layer(n) for n, call in enumerate(calls)]
    assert check_answer(calls, layers, wired).status == "verified"
    assert check_answer(calls, layers, wired, [Silence(Kind.SELF, 1, 2)]).status == "refused"
    for call in calls:   # beside a much larger head
        call.value[0], call.outputs[0] = call.value[0] * 1e5, call.outputs[0] * 1e5
    assert check_answer(calls, layers, wired, [Silence(Kind.SELF, 1, 2)]).status == "refused"


@pytest.mark.parametrize("part", ["head", "row", "dimension"])
def test_fault_beside_much_larger_numbers_is_refused(part):
    call, every = made("apart"), slice(None)
    spot = {"head": (0,), "row": (every, 0), "dimension": (every, every, 0)}[part]
    value, outputs = call.value.copy(), call.outputs.copy()
    value[spot], outputs[spot] = value[spot] * 1e5, outputs[spot] * 1e5
    large = replace(call, value=value, outputs=outputs)
    assert check_answer([large], [large.layer(0)], WIRED).status == "verified"
    wrong = value.copy()
    wrong[1, 1:, 1] = np.roll(wrong[1, 1:, 1], 1)
    found = check_answer([large], [replace(large, value=wrong).layer(0)], WIRED)
    assert found.status == "refused" and found.max_error > 0.01


def test_numbers_that_are_not_finite_are_refused():
    call = made("full")
    for number in (np.nan, np.inf):
        spoilt = call.outputs.copy()
        spoilt[1, 1, 1] = number
        assert check_answer([replace(call, outputs=spoilt)], [call.layer(0)], WIRED).status == "refused"


def test_temperature_below_the_rounding_of_scores_is_not_called_verified():
    call = made("full")
    for key in range(1, N):   # so close that rounding decides between them
        call.key[:, key] = np.nextafter(call.key[:, key - 1], np.float32(np.inf))
    cold = replace(call, temperature=np.float32([1, 1e-6, 1, 1]))
    scores = cold.query.astype(np.float64) @ cold.key.swapaxes(1, 2).astype(np.float64) / np.sqrt(D)
    scores = (scores - scores.max(-1, keepdims=True)) / cold.temperature[:, None, None]
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    cold.outputs = (weights @ cold.value)[:, cold.rows].astype(np.float32)
    found = check_answer([cold], [cold.layer(7)], WIRED)
    assert found.status == "computed" and found.rows_checked == 9 and "7·1" in found.reasons[0]
    assert found.max_error < TOLERANCE


@pytest.mark.parametrize(("name", "quadratic"), [
    ("full", 0), ("causal", 0), ("window", 0.5), ("apart", 0.5), ("softcap", 3), ("sink", 3), ("bias", 2)])
def test_memory_of_a_call_depends_on_what_its_kernel_lacks(name, quadratic):
    call = made(name, key_heads=2)
    assert shape_of(call) == Shape(HEADS, 2, D, D, quadratic)
