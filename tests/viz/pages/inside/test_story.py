"""The sentences beside a real head's scenes and steps, held against numbers of another route: of models with every
peculiarity, for keys at both ends and in the middle; and what the scenes draw."""
import re
from types import SimpleNamespace

import numpy as np
import pytest

from model.core.masks import Causal, Dense, Relative
from model.core.models import TraceQuery
from model.core.query import Kind
from model.core.view import View
from model.lessons import head_steps
from tests import headline
from tests.fabricate import D_K, HEADS, KV_HEADS, QUERIES, layer, record
from viz.pages.inside import nearest_says, steps
from viz.pages.inside.steps import STEPS, TRACED, StepContext
from viz.pages.inside.story import DRAWN, story_numbers, story_of
from viz.text import Text, strings

PROSE = strings("lessons/inside")
WORDS = PROSE["journey"]
RNG = np.random.default_rng(5)
VARIANTS = {
    "plain": {}, "causal": {"allowed": Causal()}, "softcap": {"softcap": 2.5}, "undivided": {"scale": 1.0},
    "paper": {"scale": D_K**-0.5},
    "bias": {"bias": Relative(RNG.normal(size=(HEADS, 2 * QUERIES - 1)).astype(np.float32), QUERIES)},
    "mask": {"allowed": Dense((RNG.random((HEADS, QUERIES, QUERIES)) < 0.6) | (np.arange(QUERIES) == 0))},
    "sink": {"sink": RNG.normal(size=HEADS).astype(np.float32)}}


def here_of(variant: str, head: int, token: int, key: int) -> StepContext:
    made = layer(queries=QUERIES, keys=QUERIES, **VARIANTS[variant])
    return StepContext(record(QUERIES), View(head=head, token=token), made, head_steps.head_steps(made, head, token),
                       key, False, None, "no trace")


def facts(here: StepContext) -> SimpleNamespace:
    """One row of the head in float64, written out anew from the layer's arrays."""
    made, head, token, key = here.layer, here.view.head, here.token, here.key
    shared = head // (HEADS // KV_HEADS) if made.heads == HEADS else head
    q, k, v = (each.astype(np.float64) for each in (made.query[head, token], made.key[shared], made.value[shared]))
    dots, row, n = k @ q, slice(token, token + 1), len(k)
    scores = dots * made.scale
    if made.softcap is not None:
        scores = made.softcap * np.tanh(scores / made.softcap)
    bias = np.zeros(n)
    if made.bias is not None:
        bias = np.array([made.bias.block(row, slice(0, n))[head][0][at] for at in range(n)], np.float64)
    block = np.asarray(made.allowed.block(row, slice(0, n)))
    allowed = np.broadcast_to(block, (made.heads, *block.shape[-2:]))[head][0] if block.ndim == 3 else block[0]
    raised = np.where(allowed, np.exp(scores + bias), 0.0)
    total = raised.sum() + (0.0 if made.sink is None else np.exp(float(made.sink[head])))
    weights, top = raised / total, np.exp((scores + bias)[allowed].max())
    cosines = dots / (np.linalg.norm(q) * np.linalg.norm(k, axis=1))
    parts = weights[:, None] * v
    return SimpleNamespace(
        q=np.linalg.norm(q), k=np.linalg.norm(k, axis=1), v=np.linalg.norm(v, axis=1), dots=dots, scores=scores,
        bias=bias, allowed=allowed, weights=weights, raised=raised / top, total=total / top, parts=parts,
        mix=np.linalg.norm(parts.sum(0)), angles=np.degrees(np.arccos(cosines)), key=key, products=q * k[key],
        keys=n, d_k=len(q), d_v=v.shape[1], scale=made.scale, cap=made.softcap)


def read(sentence: str) -> list[float]:
    """Its numbers, without those that are part of a name or a term."""
    plain = re.sub(r"\*\*[^*]*?t\d+ \d+[^*]*?\*\*|t\d+ \d+|e\^\S+|√\d+|\(1/[^;]*; d_k is \d+\)|Gemma 2", "", sentence)
    return [float(each.replace("−", "-").replace(",", "")) for each in
            re.findall(r"(?<![\w.])[-−+]?\d[\d,]*\.?\d*(?:e[-+]\d+)?", plain)]


def near(found: list[float], wanted: list[float]) -> None:
    assert len(found) == len(wanted), (found, wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=0.006, abs=0.0006), (found, wanted)


def scenes_hold(here: StepContext, words: dict = WORDS) -> None:
    """Fails unless every scene's sentence is true of the row."""
    numbers, row = story_numbers(here, words), facts(here)
    said = {name: sentence.format(**numbers) for name, sentence in words["says"].items() if name != "out"}
    key = row.key
    near(read(said["vectors"]), [row.q, row.k[key], row.angles[key]])
    near(read(said["products"]), [row.dots[key] / row.q, row.q, row.dots[key]])
    scale, first = said["scale"], [] if "divide" in said["scale"] and "multiplied" not in said["scale"] else [row.scale]
    assert ("divided by the same" in scale) == bool(np.isclose(row.scale, row.d_k**-0.5))
    assert ("does not divide" in scale) == (row.scale == 1) and ("multiplied" in scale) == bool(first)
    root = [np.sqrt(row.d_k)] if "divided by" in scale else []
    root += [1.0] if row.scale == 1 else []
    masked = [] if row.allowed.all() else [row.allowed.sum(), row.keys]
    assert ("mask lets" in scale) == bool(masked) and ("soft-cap" in scale) == (row.cap is not None)
    near(read(scale), [*first, *root, row.dots[key], row.scores[key], *([row.cap] if row.cap else []),
                       *([row.bias[key]] if row.bias.any() else []), *masked])
    if row.allowed[key]:
        near(read(said["softmax"]), [row.raised[key], row.total, row.weights[key]])
    else:
        assert row.weights[key] == 0 and "exactly **0**" in said["softmax_masked"]
    near(read(said["mix"]), [row.v[key], np.linalg.norm(row.parts[key]), row.mix])


CASES = [(variant, head, token, key) for variant in VARIANTS
         for head, token in ((0, 0), (3, 3), (5, 6)) for key in (0, 3, 6)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_scene_says_what_is_so(variant):
    for case in CASES:
        if case[0] == variant:
            scenes_hold(here_of(*case))


@pytest.mark.parametrize("scene", ["vectors", "products", "softmax", "mix"])
def test_a_wrong_sentence_is_caught(scene):
    swapped = {"vectors": ("{query", "{length"), "products": ("{dot", "{score"), "softmax": ("{total", "{sum"),
               "mix": ("{mix", "{value")}[scene]
    wrong = WORDS | {"says": WORDS["says"] | {scene: Text(WORDS["says"][scene].replace(*swapped))}}
    with pytest.raises(AssertionError):
        scenes_hold(here_of("sink", 3, 3, 3), wrong)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_scenes_draw_lengths_angles_and_sums_as_they_are(variant):
    here = here_of(variant, 3, 4, 2)
    drawn, row = story_of(here, WORDS), facts(here)
    assert np.hypot(drawn.along, drawn.across) == pytest.approx(row.k)
    assert np.degrees(np.arctan2(drawn.across, drawn.along)) == pytest.approx(row.angles)
    assert drawn.steps.sum(0) == pytest.approx([row.mix, 0], abs=1e-9) and drawn.mix == pytest.approx(row.mix)
    assert np.isfinite(drawn.logits).tolist() == row.allowed.tolist() and drawn.stream is None
    shown = ((row.parts @ head_steps.mix_plane(here.path)[0].T) ** 2).sum() / (row.parts**2).sum()
    assert story_numbers(here, WORDS)["share"] == pytest.approx(shown) and 0 < shown <= 1


def test_of_a_long_text_the_others_are_one_row_and_nothing_is_lost():
    made = layer(queries=40, keys=40)
    here = StepContext(record(40), View(head=1, token=5), made, head_steps.head_steps(made, 1, 5), 7, False, None, "")
    drawn = story_of(here, WORDS)
    assert DRAWN < len(drawn.names) <= DRAWN + 2 and drawn.places[-1] == -1 and 7 in drawn.places
    assert drawn.weights.sum() == pytest.approx(1) and drawn.steps.sum(0) == pytest.approx([drawn.mix, 0], abs=1e-9)
    assert f"{len(drawn.names) - 1} of 40 keys are drawn" in story_numbers(here, WORDS)["drawn"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_said_of_the_smallest_angle_is_so(variant):
    for case in CASES:
        if case[0] != variant:
            continue
        here = here_of(*case)
        row = facts(here)
        angles = np.where(row.allowed, row.angles, np.nan)
        said, close = nearest_says(here, row.angles, PROSE["geometry"]), int(np.nanargmin(angles))
        assert f"is that of **{'t' + str(1 if close == 6 else close)} {close}**" in said
        assert ("that the mask allows" in said) == (not row.allowed.all())
        assert ("bias" in said) == bool(row.bias.any())
        near(read(said)[:2], [row.angles[close], row.weights[close]])
        assert f"{row.weights.max():.3f}" in said


def step_said(here: StepContext, name: str, monkeypatch) -> str:
    """The sentence of one of the ten steps."""
    for drawing in ("figure", "vector_strips"):
        monkeypatch.setattr(steps, drawing, lambda *given, **more: None)
    monkeypatch.setattr(steps.st, "caption", lambda *given, **more: None)
    words = PROSE["steps"][name]
    return words["says"].format(**({"token": "TOKEN", "key": "KEY", "layer": 0, "head": here.view.head}
                                   | STEPS[name](here, SimpleNamespace(), words)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_step_says_what_is_so(variant, monkeypatch):
    for case in CASES:
        if case[0] != variant:
            continue
        here = here_of(*case)
        row, key = facts(here), here.key
        said = {name: step_said(here, name, monkeypatch) for name in STEPS if name not in TRACED}
        near(read(said["products"])[:3], [row.dots[key], row.products[row.products > 0].sum(),
                                          row.products[row.products < 0].sum()])
        near(read(said["score"]), [row.dots[key], row.scale, row.dots[key] * row.scale,
                                   *([row.cap, row.scores[key]] if row.cap else [])])
        near(read(said["mask"]), ([row.bias[key]] if row.bias.any() else []) + (
            [row.keys] if row.allowed.all() else [row.allowed.sum(), row.keys, 0]))
        assert ("all 7 keys" in said["mask"]) == bool(row.allowed.all())
        near(read(said["mix"]), [row.d_v, row.mix, row.v[row.allowed].mean()])
        assert f"**{row.weights[key]:.4f}**" in said["softmax"]
        assert ("sink" in said["softmax"]) == (variant == "sink")
        assert "nan" not in said["qkv"] and "pairs" not in said["products"]


def test_minilm_hands_over_what_it_is_said_to(monkeypatch):
    from model.ask import sources

    query = sources.open_query("minilm", headline.TIRED)
    made, trace = sources.ask(query).result(), sources.ask(TraceQuery(query)).result()
    block = made[Kind.SELF].layer(3)
    here = StepContext(made, View(layer=3, head=1, token=10), block, head_steps.head_steps(block, 1, 10), 2, False,
                       trace, "")
    before = trace.block(Kind.SELF, 3).before[10].astype(np.float64)
    mixed = head_steps.head_steps(block, 1, 10).mixed
    added = mixed @ trace.attention(Kind.SELF, 3).w_output[1].astype(np.float64)
    cosine = before @ added / np.linalg.norm(before) / np.linalg.norm(added)
    drawn = story_of(here, WORDS).stream
    assert drawn == pytest.approx((np.linalg.norm(before), np.linalg.norm(added), np.degrees(np.arccos(cosine))))
    said = WORDS["says"]["out"].format(**story_numbers(here, WORDS))
    after = before @ (before + added) / np.linalg.norm(before) / np.linalg.norm(before + added)
    near(read(said), [32, 384, drawn[1], drawn[2], drawn[0], np.degrees(np.arccos(after))])
    for columns in (False, True):
        turned = StepContext(*(getattr(here, name) for name in ("record", "view", "layer", "path", "key")), columns,
                             trace, "")
        shape = step_said(turned, "qkv", monkeypatch)
        assert ("does not exist" in shape) != columns and ("belongs here" in shape) == columns
        assert "32 × 384" in shape and "384 × 32" not in shape.split("shape")[1]
    assert "first layer" not in step_said(here, "in", monkeypatch)
    assert "No head has looked" in step_said(here, "in", monkeypatch)
