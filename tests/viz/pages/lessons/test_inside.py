"""Inside one head compared with scipy and Qhull, and what is hidden until the question is answered."""
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.special import softmax

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.attention import Causal, Dense, Relative
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.model.lessons import head_steps
from clearhead.viz.pages.lessons import inside
from clearhead.viz.pages.lessons.inside import steps
from clearhead.viz.pages.lessons.inside.steps import STEPS, TRACED, StepContext
from clearhead.viz.style.text import strings
from clearhead.viz.widgets import part
from clearhead.viz.widgets.lesson import Section
from tests import headline
from tests.fabricate import D_K, HEADS, QUERIES, layer, record
from tests.lesson_pages import shown

PROSE = strings("lessons/inside")
RNG = np.random.default_rng(5)
VARIANTS = {
    "plain": {}, "causal": {"allowed": Causal()}, "softcap": {"softcap": 2.5}, "paper": {"scale": D_K**-0.5},
    "bias": {"bias": Relative(RNG.normal(size=(HEADS, 2 * QUERIES - 1)).astype(np.float32), QUERIES)},
    "mask": {"allowed": Dense((RNG.random((HEADS, QUERIES, QUERIES)) < 0.6) | (np.arange(QUERIES) == 0))},
    "sink": {"sink": RNG.normal(size=HEADS).astype(np.float32)}}


@pytest.fixture
def quiet(monkeypatch):
    for module, drawing in ((part, "figure"), (steps, "vector_strips"), (steps.st, "caption")):
        monkeypatch.setattr(module, drawing, lambda *given, **more: None)


def told(step: str, here: StepContext) -> Section:
    """Draw a step, and return its texts with the facts."""
    page = SimpleNamespace(controls={})
    lesson = SimpleNamespace(page=page, prose=PROSE, name="inside", predict=None, open=None)
    words = Section(lesson, step, PROSE["steps"])
    words.tell(token="t", key="k", layer=0, head=here.view.head)
    STEPS[step](here, words)
    return words


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("head", "token", "key"), [(0, 0, 0), (3, 3, 6), (5, 6, 3)])
def test_every_step_states_the_numbers_of_the_row(quiet, variant, head, token, key):
    made = layer(queries=QUERIES, keys=QUERIES, **VARIANTS[variant])
    path = head_steps.head_steps(made, head, token)
    here = StepContext(record(QUERIES), View(head=head, token=token), made, path, key, None, "no trace")
    texts = {name: told(name, here) for name in STEPS if name not in TRACED}
    found = {name: words.facts for name, words in texts.items()}
    shared = head * len(made.key) // made.heads
    q, k, v = (each.astype(np.float64) for each in (made.query[head, token], made.key[shared], made.value[shared]))
    row = path.weights
    assert found["products"]["dot"] == pytest.approx(q @ k[key])
    assert found["products"]["positive"] + found["products"]["negative"] == pytest.approx(q @ k[key])
    assert found["score"]["product"] == pytest.approx(q @ k[key] * made.scale)
    assert found["mask"]["allowed"] == path.allowed.sum()
    assert found["softmax"]["raised"] / found["softmax"]["total"] * (1 - path.sink) == pytest.approx(row[key])
    assert found["mix"]["length"] == pytest.approx(np.linalg.norm(row @ v))
    assert found["concat"]["width"] == made.heads * v.shape[1]
    assert not any("nan" in words("says") for words in texts.values())


def test_head_by_hand_equals_scipy_and_qhull():
    for _ in range(20):
        q, k, v = RNG.uniform(-3, 3, (3, 4, 2)).round(2)
        for looks in range(4):
            weights = softmax(k @ q[looks] / 2**0.5)
            found, top = inside.hand_numbers(PROSE["hand"], q, k, v, looks, True), int(weights.argmax())
            assert found["top"] == inside.TOKENS[top]
            assert float(found["weight"]) == pytest.approx(weights[top], abs=6e-4)
            inner = -float((ConvexHull(v).equations @ [*(weights @ v), 1.0]).max())
            assert f"It is {inner:.2f} inside" in found["mixed"]


def test_mix_is_not_described_before_the_answer():
    covered = shown("inside", step="mix")
    prompt = PROSE["predict"]
    words = [each for each in covered.words if each not in (prompt["ask"], *(one["text"] for one in prompt["answers"]))]
    text = " ".join([*words, *(line for lines in covered.notices.values() for line in lines), *covered.alts.values()])
    for leaked in ("hull", "average", "cannot leave", "shortens", "diamond"):
        assert leaked not in text, leaked
    answered = shown("inside", guess="a", step="mix", to=3)
    layer = desk.ask(sources.open_query("minilm", headline.TIRED)).result(120)[Kind.SELF].layer(3)
    query, key = layer.query[1, 10].astype(np.float64), layer.key[1, 3].astype(np.float64)
    numbers = answered.numbers["geometry"]
    assert numbers["dot"] == pytest.approx(query @ key, rel=1e-6)
    assert numbers["query"] * numbers["length"] * np.cos(np.radians(numbers["angle"])) == pytest.approx(numbers["dot"])


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL, Kind.CROSS])
def test_stream_and_addition_equal_the_norm_input(kind):
    trace = desk.ask(TraceQuery(sources.open_query("translator", headline.TIRED))).result()
    block, around = trace.block(kind, 0), trace.attention(kind, 0)
    total = np.add(*block.sum_at(around))
    assert min(np.abs(norm.input - total).max() for norm in block.norms) < 1e-5
