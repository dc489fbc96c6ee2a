"""The page *Inside one head* at every scene and step, its sentences held against MiniLM's head written out anew."""
import re

import numpy as np
import pytest

from model.ask import sources
from model.core.query import Kind
from model.core.view import View
from model.lessons import head_steps
from tests.lesson_pages import Shown, shown
from tests.lesson_sentences import Rules, agrees, head_rows, sentences, wrong
from tests.viz.pages.inside.test_hand import ENDS, TOKENS, goal_holds, looking_holds, mix_holds
from tests.viz.pages.inside.test_story import facts
from viz.components.head_story import SCENES
from viz.pages.inside.steps import StepContext
from viz.pages.inside.strips import NAMES
from viz.state import State

TO = (-1, 99_999, 3, 7)   # the key: the page's own choice, one that the text has not, two of its own
PLACES = [(step, SCENES[place % len(SCENES)], TO[place % len(TO)], TOKENS[place % 4], ENDS[place])
          for place, step in enumerate(NAMES)]


def row_of(page: Shown) -> tuple[int, object, object]:
    """(key, the row of layer 3 head 1 token 10, the layer); with which the page opens."""
    record = sources.ask(sources.open_query(State().model, State().text)).result(120)
    layer = record[Kind.SELF].layer(3)
    key = int(re.search(r"(\d+) is [\d.]+ long", page.alts["inside-angles"])[1])
    here = StepContext(record, View(layer=3, head=1, token=10), layer, head_steps.head_steps(layer, 1, 10), key, False,
                       None, "")
    return key, facts(here), layer


def rules_of(key: int, row, layer) -> Rules:
    """What must be true of the sentences beside the real head."""
    values = np.asarray(layer.value[1], np.float64)
    spread = np.linalg.svd(values - values.mean(0), compute_uv=False) ** 2
    share, cosines = spread[:2].sum() / spread.sum(), np.cos(np.radians(row.angles))
    whole, close = head_rows(layer)[1], int(row.angles.argmin())
    change = np.linalg.norm(whole @ whole - whole) / np.linalg.norm(whole)
    return {
        "more hand 1": lambda line: agrees(line, 0, 0, 1),
        "more journey 0": lambda line: agrees(line, 384, 32),
        "alt inside-angles": lambda line: agrees(line, row.q, key, row.k[key], row.angles[key]),
        "notice geometry 0": lambda line: f"{row.angles[close]:.1f}°, is that of **" in line and (
            f" {close}**" in line and f"{row.weights[close]:.3f}" in line and f"{row.weights.max():.3f}" in line),
        "notice geometry 1": lambda line: agrees(line.split("**: ")[1], row.k[key], row.angles[key],
                                                 row.k[key] * cosines[key], row.q, row.dots[key]),
        "more geometry 0": lambda line: agrees(line, 32, 0, 1, 32, 32**-0.5, cosines.min(), cosines.max()),
        "more geometry 1": lambda line: agrees(line, 90, 90),
        "notice average 0": lambda line: agrees(line, 1),
        "notice average 1": lambda line: agrees(line.split("** is")[1], row.mix, row.v.max()),
        "notice average 2": lambda line: agrees(line, change, 0),
        "more average 0": lambda line: agrees(line, share), "more average 1": lambda line: agrees(line, 32, 32),
        "alt inside-hull": lambda line: agrees(line, len(values), share)}


@pytest.mark.parametrize(("step", "scene", "to", "looks", "at"), PLACES, ids=NAMES)
def test_every_sentence_of_the_page_is_true_where_it_stands(step, scene, to, looks, at):
    page = shown("inside", guess="a", step=step, scene=scene, to=to, looks=looks,
                 **{f"h{name}": at[name] for name in "qkv"})
    key, row, layer = row_of(page)
    assert key == (to if to in range(16) else int(row.weights.argmax()))
    goal, looking, mix = page.notices["hand"]
    goal_holds(goal, at)
    looking_holds(looking, at, TOKENS.index(looks))
    mix_holds(mix, at, TOKENS.index(looks))
    rules = rules_of(key, row, layer)
    said = {place: line for place, line in sentences(page).items()
            if not place.startswith(("notice hand", "alt inside-")) or place in rules}   # steps: tests of theirs
    assert wrong(said, rules) == []
    if step == "softmax":
        assert any(f"gets {row.weights[key]:.3f}." in each for each in page.alts.values())
        planted = {place: re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 5) % 10), said[place])
                   for place in ("notice geometry 1", "more geometry 0", "alt inside-hull", "notice average 1")}
        assert {each.split(":")[0] for each in wrong(said | planted, rules)} == set(planted)
