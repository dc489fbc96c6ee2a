"""`look` with unusual input: a picture or one sentence, and NaN is never verified."""
import itertools
import math
from collections.abc import Callable
from dataclasses import make_dataclass
from types import MappingProxyType
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BatchEncoding
from transformers.modeling_outputs import BaseModelOutput

from clearhead.model.core.query import UserError
from clearhead.model.look.look import look
from clearhead.viz.notebook import show

STATES = (1, 4, 16)


class Attends(nn.Module):
    """Self-attention with something before it and a change of its output."""

    def __init__(self, before: Callable[[Any], Any] = lambda module: None, after: Callable = lambda states: states):
        super().__init__()
        self.attention, self.before, self.after = nn.MultiheadAttention(16, 2, batch_first=True), before, after

    def forward(self, x):
        self.before(self)
        return self.after(self.attention(x, x, x)[0])


class Doing(nn.Module):
    """A function as a module."""

    def __init__(self, forward: Callable):
        super().__init__()
        self.forward = forward


class Fused(nn.Module):
    """Torch's fused attention over queries, keys and values of this shape; or a softmax by hand over such scores."""

    def __init__(self, *shape: int, by_hand: bool = False, of: float = 0.0):
        super().__init__()
        self.shape, self.by_hand, self.of = shape, by_hand, of

    def forward(self, x):
        part = torch.full(self.shape, self.of)
        return part.softmax(-1) if self.by_hand else nn.functional.scaled_dot_product_attention(part, part, part)


def raising(error: BaseException) -> Attends:
    def stop(module):
        raise error
    return Attends(stop)


PASSES = itertools.count(1)
LARGE = torch.tensor([0.0, 0.0, 0.0, 3e4])[:, None]   # beside which a change of other rows seems small


def changing(module: Attends) -> None:
    module.another = nn.Linear(2, 2)
    with torch.no_grad():
        module.attention.in_proj_weight.mul_(1.5)


def holding(number: float, part: str = "attention.out_proj.weight") -> Attends:
    network = Attends()
    with torch.no_grad():
        network.get_parameter(part)[0, 0] = number
    return network


STATE, ONE = torch.randn(STATES, generator=torch.Generator().manual_seed(0)), Attends()

REFUSED = {   # what is handed over, and a part of the sentence
    **{f"raises {type(error).__name__}": (lambda error=error: look(raising(error), STATE), "could not run on")
       for error in (MemoryError(), StopIteration(3), RuntimeError("one\ntwo"))},
    "a weight of NaN": (lambda: look(holding(math.nan), STATE), "NaN or infinity is among"),
    "a query's weight of NaN": (lambda: look(holding(math.nan, "attention.in_proj_weight"), STATE), "NaN or infinity"),
    "inputs of NaN": (lambda: look(ONE, STATE * math.nan), "NaN or infinity is among"),
    "weights of NaN by hand": (lambda: look(Fused(1, 2, 4, 4, by_hand=True, of=math.nan), STATE), "NaN or infinity"),
    **{f"fused {shape}": (lambda shape=shape: look(Fused(*shape), STATE), "Fused") for shape in (
        (1, 2, 0, 8), (0, 2, 4, 8), (5,), (1, 1, 2, 4, 8))},
    "by hand over nothing": (lambda: look(Fused(1, 2, 4, 0, by_hand=True), STATE), "Fused"),
    "nested": (lambda: look(ONE, torch.nested.nested_tensor([STATE[0], STATE[0, :3]], layout=torch.jagged)),
               "give a padded tensor"),
    "inside vmap": (lambda: look(Doing(lambda x: torch.vmap(
        lambda item: nn.functional.scaled_dot_product_attention(item, item, item))(x[:, None])), STATE), "torch.vmap"),
    "over queries": (lambda: look(Doing(lambda x: (x[None] @ x[None].mT).softmax(-2)), STATE), "axis -2 of (1, 1, 4, "),
    "across": (lambda: look(Doing(lambda x: (x[None] @ x[None].mT).transpose(1, 2).softmax(-1)), STATE), "the queries"),
    "einsum": (lambda: look(Doing(lambda x: torch.einsum("qhd,khd->qhk", x, x).softmax(-1)), STATE), "the queries"),
    "over features": (lambda: look(Doing(lambda x: x[None].softmax(-1) @ x[None].softmax(-2).mT), STATE), "no softmax"),
    "by hand without values": (lambda: look(Doing(lambda x: (x @ x.mT).softmax(-1) + 1), STATE), "no softmax"),
    "no token": (lambda: look(ONE, torch.zeros(1, 0, 16)), "attention is empty"),
    "another type": (lambda: look(Attends().bfloat16(), STATE), "could not run on"),
    **{f"inputs {index}": (lambda given=given: look(ONE, given), "") for index, given in enumerate((
        None, (), {"nosuch": STATE}, STATE.numpy(), "text", torch.arange(4)))},
    **{f"no module {index}": (lambda given=given: look(given, STATE), "look needs a torch module")
       for index, given in enumerate(("minilm", nn.Linear))},
    **{f"batch {batch}": (lambda batch=batch: look(ONE, torch.zeros(2, 4, 16), batch=batch), "")
       for batch in (2, -1, "a", None, True, 1.0)},
    **{f"tokens {index}": (lambda given=given: look(ONE, STATE, tokens=given), "") for index, given in enumerate((
        ["a"], [], "abcd", [1, 2, 3, 4], (["a"], ["b"])))},
}


@pytest.mark.parametrize("case", REFUSED)
def test_input_that_cannot_be_shown_is_refused(case):
    call, part = REFUSED[case]
    with pytest.raises(UserError) as refused:
        call()
    said = str(refused.value)
    assert part in said and said.endswith(".") and "\n" not in said and len(said) < 600


@pytest.mark.parametrize(("network", "why"), [
    (Attends(after=lambda states: states * math.nan), "returned NaN or infinity, which cannot be compared"),
    (Attends(after=lambda states: states - math.inf), "returned NaN or infinity, which cannot be compared"),
    (Attends(after=lambda states: None), "no numbers that could be compared"),
    (Attends(after=lambda states: "done"), "no numbers that could be compared"),
    (Attends(changing), "returned something else"),
    (Attends(after=lambda states: states * next(PASSES) + LARGE), "returned something else"),
])
def test_unproved_output_is_reported(network, why):
    check = look(network, STATE).verification
    assert check.status == "reported" and len(check.reasons) == 1 and why in check.reasons[0]


@pytest.mark.parametrize("form", [lambda states: {"a": [states], "b": None, "c": math.nan},
                                  make_dataclass("Answer", ["states"]),
                                  lambda states: [make_dataclass("Answer", ["states"])(states)]])
def test_output_of_any_form_is_compared(form):
    assert look(Attends(after=form), STATE).verification.status == "verified"


@pytest.mark.parametrize(("states", "read"), [
    (BatchEncoding({"states": STATE}), lambda given: given.states),
    (BaseModelOutput(STATE), lambda given: given.last_hidden_state),
    (MappingProxyType({"states": STATE}), lambda given: given["states"])])
def test_mappings_keep_their_class_and_items(states, read):
    network, before = Attends(), dict(states)
    reading = Doing(lambda states: network(read(states)))
    reading.inner = network
    record = look(reading, {"states": states}, tokens=tuple("abcd"))
    assert record.verification.status == "verified" and record.maps[0].queries.texts == tuple("abcd")
    assert [*states.items()] == [*before.items()] and read(states) is STATE


def test_tuples_built_in_another_way_are_passed_on():
    class Both(tuple):
        def __new__(cls, one, other):
            return super().__new__(cls, (one, other))

    network = Attends()
    both = Doing(lambda pair: network(pair[0]) + pair[1].sum())
    both.inner = network
    assert look(both, {"pair": Both(STATE, torch.ones(3))}).verification.status == "verified"


def test_tokens_that_hold_markup_are_text_in_the_frame():
    for tokens in (["<script>got=1</script>", "</script>", "&amp;", "\u202e"], ["aU+D800", "\x00", "\x1b[31m\n", ""]):
        record = look(ONE, STATE, tokens=[text.replace("U+D800", "\ud800") for text in tokens])
        assert record.maps[0].queries.texts == tuple(tokens)
        assert "<script>got" not in show(record).page.decode("utf-8")
