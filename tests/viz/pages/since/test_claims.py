"""The sentences about the block, read at every position of every switch and held against numbers computed anew."""
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from model.lessons import since
from tests.lesson_tally import TALLY
from tests.model.lessons.since.test_design import DESIGNS, torchs
from viz.pages.since import CHANGES, block_claim
from viz.pages.since import _boxes as boxes_of
from viz.pages.since.cache import said_bytes
from viz.pages.since.scaling import said_count, said_power
from viz.text import strings

WORDS = strings("lessons/since")["block"]
SAYS = {("pre", True): "Norm first", ("pre", False): "Norm last", ("rms", True): "RMSNorm",
        ("rms", False): "LayerNorm", ("swiglu", True): "SwiGLU", ("swiglu", False): "ReLU",
        ("rotary", True): "Rotary", ("rotary", False): "Sinusoids",
        ("bare", True): "No biases", ("bare", False): "Biases"}


def counted(this: since.Design) -> int:
    """The block's parameters by the shapes of its matrices."""
    inner, kept = (256, 2 * 12 * this.groups) if this.swiglu else (384, 2 * 12 * this.groups)
    matrices = 2 * 96 * 96 + 96 * kept + (3 if this.swiglu else 2) * 96 * inner
    biases = 0 if this.bare else 96 + kept + 96 + (2 * inner if this.swiglu else inner) + 96
    return matrices + biases + 2 * 96 * (1 if this.rms or this.bare else 2)


def wrong(said: str, this: since.Design, about: str, revealed: bool) -> list[str]:
    """What in the sentences about a change is not so."""
    found, numbers = [], [float(each.replace(",", "")) for each in re.findall(r"(?<![√\w])\d[\d,.]*(?:e-\d+)?", said)
                          for each in [each.rstrip(".,")]]
    cost = counted(this if about == "groups" else replace(this, **{about: True})) - counted(
        replace(this, **{about: getattr(since.PAPER, about)}))
    found += [] if f": {cost:+,} parameters.".replace("-", "−") in said else ["cost"]
    if about == "groups":
        found += [] if ("cache" in said) == revealed else ["cache"]
        return found + (["bytes"] if revealed and f"{4 * 12 * this.groups} bytes" not in said else [])
    on = getattr(this, about)
    found += [] if f"**{SAYS[about, on]}**" in said else ["name"]
    if about == "pre":
        output = torchs(this)
        length = float(output.norm(dim=-1).mean())
        found += [] if numbers[0] == pytest.approx(length, abs=0.0051) else ["length"]
        found += [] if on or (output.norm(dim=-1) - 96**0.5).abs().max() < 1e-4 else ["every row"]
    if about == "rms":
        means = np.abs(since.run(this).normal.mean(-1)).max()
        found += [] if (means > 0.05) == on and (not on or numbers[0] == pytest.approx(means, abs=0.0051)) else ["mean"]
    if about == "swiglu":
        zeros = (since.run(this).inner == 0).mean()
        found += [] if f"{zeros:.0%}" in said and (zeros == 0) == on else ["zeros"]
    if about == "rotary":
        moved = np.abs(since.run(this, 1).weights - since.run(this).weights).max()
        found += [] if (moved < 1e-12) == on and (on or numbers[0] == pytest.approx(moved, abs=0.0051)) else ["moved"]
    return found


@pytest.mark.parametrize("about", CHANGES)
def test_every_sentence_is_true_at_every_position_of_every_switch(about):
    for this in DESIGNS:
        for revealed in (False, True):
            TALLY.said("since", 1)
            assert wrong(block_claim(WORDS, this, about, revealed), this, about, revealed) == []


@pytest.mark.parametrize("groups", range(1, 9))
def test_what_is_said_of_groups_is_true_at_every_number_of_them(groups):
    for this in (since.Design(groups=groups), replace(since.TODAY, groups=groups)):
        for about in CHANGES:
            TALLY.said("since", 1)
            assert wrong(block_claim(WORDS, this, about, True), this, about, True) == []


@pytest.mark.parametrize("this", DESIGNS)
def test_the_boxes_of_the_drawing_are_those_of_the_block(this):
    norm, heads = "RMSNorm" if this.rms else "LayerNorm", f"{this.groups} key–value head" + "s" * (this.groups > 1)
    forward = ("feed-forward, SwiGLU", "3 matrices, 256 wide") if this.swiglu else (
        "feed-forward, ReLU", "2 matrices, 384 wide")
    parts = [(f"8 heads, {heads}", "queries and keys turned" if this.rotary else "scores as they are"), forward]
    wanted = [("embeddings", "no positions added" if this.rotary else "+ sinusoids")]
    for part in parts:
        wanted += [(norm, "24 × 96"), part, ("add", "24 × 96")] if this.pre else [part, (f"add & {norm}", "24 × 96")]
    drawn = boxes_of(WORDS, this)
    assert [box.words for box in drawn] == [name for name, _ in wanted]
    assert [box.shape for box in drawn] == [below for _, below in wanted]
    assert len({box.name for box in drawn}) == len(drawn)


def test_the_norms_mean_is_torchs():
    x = torch.tensor(since.weights()["text"])
    assert since.normalised(x.numpy(), True) == pytest.approx(functional.rms_norm(x, (96,), eps=1e-6).numpy())


@pytest.mark.parametrize(("count", "wanted"), [(1, "1 bytes"), (999, "999 bytes"), (1000, "1 kB"), (131_072, "131 kB"),
                                               (1_572_864, "1.57 MB"), (17_179_869_184, "17.2 GB"), (5e12, "5000 GB")])
def test_bytes_are_said_in_their_unit(count, wanted):
    assert said_bytes(count) == wanted


def test_large_numbers_and_powers_are_said_as_people_do():
    words = ["million", "billion", "trillion", "quadrillion"]
    assert [said_count(count, words) for count in (4.1e10, 1.2e12, 9.6e7, 2.5e15)] == [
        "41 billion", "1.2 trillion", "96 million", "2.5 quadrillion"]
    assert said_power(24.0) == "10²⁴" and said_power(23.5) == "10²³·⁵"
