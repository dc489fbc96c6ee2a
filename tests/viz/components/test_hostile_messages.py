"""Messages of a hostile browser: layer 10⁹, NaN, strings, any JSON. A component passes on only what it offered."""
import json
import re
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core.heads import overview
from clearhead.model.core.query import Kind
from clearhead.model.core.view import View, displayed_head
from clearhead.viz import components
from clearhead.viz.app.page_controls import Numbers
from clearhead.viz.components.arrows import parse_event as read_arrows
from clearhead.viz.components.chart import picked_points
from clearhead.viz.components.component import Selection, parse_selection
from clearhead.viz.components.diagram import Box
from clearhead.viz.components.diagram import parse_event as read_box
from clearhead.viz.components.handles import parse_event as read_drag
from clearhead.viz.components.head_grid import GridEvent
from clearhead.viz.components.head_grid import parse_event as read_grid
from clearhead.viz.components.head_view import parse_event as read_view
from clearhead.viz.components.mask_editor import parse_event as read_cells
from clearhead.viz.components.messages import pack, unpack
from clearhead.viz.components.picture import Head, head_ids
from clearhead.viz.components.slider import LATEST
from clearhead.viz.components.slider import message as slider_message
from clearhead.viz.components.slider import parse_event as read_slider
from clearhead.viz.components.story import CELLS, STEPS, Scene, Step
from clearhead.viz.components.story import parse_event as read_story
from clearhead.viz.pages.lessons.inside import HAND
from clearhead.viz.style.format import visible_token
from clearhead.viz.widgets.head_table import clicked_head
from clearhead.viz.widgets.page_bar import parse_event as read_presentation
from clearhead.viz.widgets.progress import parse_event as read_progress
from tests.fabricate import record
from tests.hostile import JSON, TEXTS, examples


def scene() -> Scene:
    """Create a scene of a text of four pieces and two blocks of two heads."""
    numbers = np.linspace(-1, 1, 4 * CELLS, dtype=np.float32).reshape(4, CELLS)
    rows = np.full((2, 2, 4), 0.25, np.float32)
    steps = tuple(Step(name, f"What {name} says.", "softmax", "Softmax") for name in STEPS)
    return Scene((("a", True), (" ", False), ("<b>", True)), ("[BOS]", "a", "<b>", "c"), (2, 10, 11, 12), numbers,
                 numbers + 1, rows, (1, -1), "{:.0%}".format, rows[:, :, 0], np.array([[1, 2], [3, 4]], np.float32),
                 np.linspace(-1, 1, 20, dtype=np.float32), ("x", "y"), (7, 8), (2.0, -1.0), (0.9, 0.05), "2 others", 64,
                 "Again", steps, "A text.")


MADE = record(7)
GRID, SHOWN = overview(MADE[Kind.SELF]), Head((displayed_head(MADE, View()),), View())
SCENE = scene()
BOXES = [Box(name, (0, 0, 1, 1), ("words",), "", label) for name, label in
         (("token", "words"), ("pair", "words"), ("closed", ""))]
CONTROL = Numbers("x", (0.0, 0.0, 0.0), -5, 5, 1, 9)
ARROWS = {name: Numbers(name, (0.0,) * 4, -5, 5, 4, 4) for name in "qkv"}
WORDS = ["0", "the", "the"]
HEADS = [(3, 1), (5, 11)]
NEAR = st.integers(-2, 9) | JSON   # nearly right: what an attacker would try next
MESSAGES = st.one_of(
    JSON, NEAR, st.fixed_dictionaries({"token": NEAR, "pair": NEAR | st.lists(NEAR, max_size=3)}),
    st.fixed_dictionaries({"box": NEAR}), st.fixed_dictionaries({"lesson": NEAR | st.just("softmax")}),
    st.fixed_dictionaries({"write": NEAR}), st.fixed_dictionaries({"opened": st.lists(NEAR, max_size=3) | NEAR}),
    st.fixed_dictionaries({"looks": NEAR}), st.fixed_dictionaries({"key": NEAR}),
    st.fixed_dictionaries({"scene": NEAR}),
    st.fixed_dictionaries({name: st.lists(NEAR | st.floats(-6, 6), min_size=4, max_size=4) for name in "qkv"}),
    st.fixed_dictionaries({"values": st.lists(NEAR | st.floats(-6, 6), min_size=2, max_size=4)}),
    st.fixed_dictionaries({"allowed": st.lists(st.integers(0, 1) | NEAR, min_size=3, max_size=5)}),
    st.fixed_dictionaries({"at": NEAR, "word": NEAR | st.sampled_from(WORDS), "count": NEAR}),
    st.fixed_dictionaries({"selection": st.fixed_dictionaries({"rows": st.lists(NEAR, max_size=2),
                                                               "cells": st.lists(st.lists(NEAR, max_size=2),
                                                                                max_size=2) | NEAR}) | NEAR}))


@examples(1000)
@given(MESSAGES)
def test_events_are_offered_options_or_none(message):
    event = read_grid(message, GRID)
    assert event is None or (type(event) is GridEvent and event.head in head_ids(GRID))
    for event in (read_view(message, SHOWN), parse_selection(message, range(7), range(7))):
        if event is not None:
            given_places = [each for each in (event.token, *(event.pair or ())) if each is not None]
            assert type(event) is Selection and all(type(each) is int and 0 <= each < 7 for each in given_places)
    patch = parse_selection(message, range(7))
    assert patch is None or patch.token is None or (type(patch.token) is int and 0 <= patch.token < 7)
    assert patch is None or patch.pair is None, "without keys there are no pairs"
    assert all(type(each) is int and each >= 0 for each in picked_points({"picked": message}))
    assert picked_points(message) == [] or "picked" in message
    assert read_box(message, BOXES) in (None, "token", "pair")
    told = read_story(message, SCENE)
    assert told is None or (told.lesson in (None, "softmax") and told.write in (None, 7, 8)
                            and told.opened in (None, *((block, head) for block in (0, 1) for head in (-1, 0, 1))))
    moved = read_drag(message, CONTROL, 3)
    assert moved is None or (len(moved) == 3 and all(isinstance(each, (int, float)) and -5 <= each <= 5
                                                     for each in moved))
    held = read_arrows(message, ARROWS, 2)
    assert held is None or held in ({"looks": 0}, {"looks": 1}) or all(
        len(numbers) == 4 and all(-5 <= each <= 5 for each in numbers) for numbers in held.values())
    painted = read_cells(message, 2)
    assert painted is None or (painted.shape == (2, 2) and painted.dtype == bool)
    at = read_slider(message, WORDS)
    assert at is None or (type(at) is int and 0 <= at < 3)
    heard = slider_message("x", WORDS, 0, None, message)["heard"]
    assert type(heard) is int and 0 <= heard <= LATEST
    assert clicked_head(message, HEADS) in (None, *HEADS)
    assert read_presentation(message) is None and read_progress(message) == {}


@examples(200)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_texts_are_sent_unchanged(texts):
    labels = [visible_token(text) for text in texts]
    header, arrays = unpack(pack({"texts": labels}, {"a": np.zeros(3, np.uint8)}))
    assert header["texts"] == labels and (arrays["a"] == 0).all()
    for each in labels:
        each.encode("utf-8")
        assert not any(sign in each for sign in "\0\n\r\t\u202e\u2066\ufeff\x1b\u2028")
        assert json.loads(json.dumps(each)) == each


def test_value_of_a_slider_is_a_current_option_or_none():
    words = ["none", "1", "2", "the", "the"]
    for at, word, wanted in ((1, "1", 1), (1, "2", 2), (99, "2", 2), (4, "the", 4), (1, "the", None), (True, "1", None),
                             (1, "9", None)):
        assert read_slider({"at": at, "word": word, "count": 5}, words) == wanted, "the options may have changed"
    assert read_slider({"at": 1, "word": "1"}, words) is None and read_slider(None, words) is None
    assert slider_message("x", words, 1, None, {"count": 7})["heard"] == 7
    assert slider_message("x", words, 1, None, {"count": 1e9})["heard"] == 0


def test_dragged_values_are_rounded_to_hundredths():
    found = read_arrows({name: [0.123, -3.0, 0, 0, 1, 1, 2, 2] for name in "qkv"}, HAND, 4)
    assert found == dict.fromkeys("qkv", (0.12, -3.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0))
    assert read_arrows({"looks": 3}, HAND, 4) == {"looks": 3}


def test_all_components_are_listed():
    """A component that sends messages and is not tested above would be an entry point."""
    folder = Path(components.__file__).parent
    with_events = {path.parent.name for path in folder.glob("*/__init__.py")
                   if re.search(r"\bdef parse_event\(|\bparse_selection\(", path.read_text(encoding="utf-8"))}
    assert with_events == {"arrows", "diagram", "handles", "head_grid", "head_view", "mask_editor", "picture_view",
                           "sketch", "slider", "story", "token_strip"}
