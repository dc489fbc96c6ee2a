"""What a head's story sends and takes."""
import numpy as np
import pytest

from viz.components.head_story.payload import SCENES, Story, body, parse_event, state
from viz.components.messages import unpack

STORY = Story("it 2", ["a 0", "b 1", "other 3 together"], [0, 1, -1], 2.0, np.array([1.0, -1.0, np.nan]),
              np.array([0.5, 0.5, np.nan]), np.array([2.0, -2.0, np.nan]), np.array([1.0, -np.inf, np.nan]),
              np.array([0.2, 0.5, 0.3]), np.ones((3, 2)), np.ones((3, 2)), 1.5, None)


def test_what_is_not_there_is_null_and_keys_are_ordered_by_weight():
    header, _ = unpack(body(STORY, ["alt"] * 6, room="r", covered=False, without="why"))
    assert header["along"] == [1.0, -1.0, None] and header["logits"] == [1.0, None, None]
    assert header["order"] == [1, 0] and header["last"] == 5 and header["stream"] is None
    assert unpack(body(STORY, [], room="r", covered=True, without=""))[0]["last"] == SCENES.index("softmax")
    assert unpack(state("mix", 1, room="r"))[0]["scene"] == 4


@pytest.mark.parametrize(("value", "event"), [
    ({"scene": 0}, {"scene": "vectors"}), ({"scene": 5}, {"scene": "out"}), ({"key": 1}, {"key": 1}),
    ({"scene": 6}, None), ({"scene": -1}, None), ({"scene": True}, None), ({"key": -1}, None), ({"key": 7}, None),
    ({"key": 1, "scene": 0}, None), ({}, None), (None, None), ({"scene": "mix"}, None), ({"x": 1}, None)])
def test_only_a_scene_or_a_key_that_is_drawn_is_taken(value, event):
    assert parse_event(value, STORY.places) == event
