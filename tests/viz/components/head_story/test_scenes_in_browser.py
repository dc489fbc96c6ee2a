"""Where a head's story puts its keys: lengths, angles and sums as they are."""
import numpy as np
import pytest

from tests.viz.components.head_story.test_payload import STORY
from viz.components.head_story.payload import body
from viz.components.messages import unpack

ANGLES = np.radians([30, 75, 110])
LONG = np.array([2.0, 3.0, 1.0])
DRAWN = STORY.__class__(
    "it 2", ["a 0", "b 1", "c 2"], [0, 1, 2], 4.0, LONG * np.cos(ANGLES), LONG * np.sin(ANGLES),
    4 * LONG * np.cos(ANGLES), 2 * LONG * np.cos(ANGLES), np.array([0.7, 0.2, 0.1]),
    np.array([[1.0, 1.0], [2.0, -1.0], [1.0, -5.0]]), np.array([[0.7, 0.7], [0.4, -0.2], [0.1, -0.5]]), 1.2,
    (3.0, 1.0, 60.0))


def sizes(line: dict) -> tuple[float, float]:
    """(length, angle in degrees) on the screen, where y runs down."""
    across, up = line["x2"] - line["x1"], line["y1"] - line["y2"]
    return float(np.hypot(across, up)), float(np.degrees(np.arctan2(up, across)))


@pytest.fixture
def drawn(run_module):
    header, _ = unpack(body(DRAWN, [""] * 6, room="r", covered=False, without=""))
    return run_module("head_story/scenes.js", """({ scenes, onTheWay }, body) => {
        const made = scenes(body, 900, 320);
        made.forEach((each, at) => { each.index = at; });
        return { made, ends: [onTheWay(made[0], made[1], 0), onTheWay(made[0], made[1], 1)] };
    }""", header)


def test_every_key_has_its_length_and_its_angle_to_the_query(drawn):
    scene = drawn["made"][0]
    unit = sizes(scene["query"])[0] / 4
    for line, long, angle in zip(scene["keys"], LONG, ANGLES, strict=True):
        assert sizes(line) == pytest.approx((unit * long, np.degrees(angle)))


def test_bars_are_as_long_as_their_numbers(drawn):
    for scene, numbers in ((1, DRAWN.dots), (2, DRAWN.logits), (3, DRAWN.weights)):
        bars = [line["x2"] - line["x1"] for line in drawn["made"][scene]["keys"]]
        assert np.array(bars) / bars[0] == pytest.approx(numbers / numbers[0])
    halved = [drawn["made"][scene]["keys"][0] for scene in (1, 2)]
    assert sizes(halved[0])[0] == pytest.approx(2 * sizes(halved[1])[0])   # both on one scale


def test_the_shares_laid_end_to_end_are_the_mix(drawn):
    scene = drawn["made"][4]
    (long, angle), keys = sizes(scene["mix"]), scene["keys"]
    assert angle == pytest.approx(0)
    assert [keys[2]["x2"], keys[2]["y2"]] == pytest.approx([scene["mix"]["x2"], scene["mix"]["y2"]])
    assert sizes(keys[0])[0] == pytest.approx(long / 1.2 * np.hypot(0.7, 0.7))
    assert sizes(scene["ghosts"][0])[0] == pytest.approx(long / 1.2 * np.hypot(1, 1))


def test_what_the_head_adds_stands_at_its_angle_to_the_stream(drawn):
    scene = drawn["made"][5]
    (stream, flat), (added, angle) = sizes(scene["stream"]), sizes(scene["mix"])
    assert (flat, angle) == pytest.approx((0, 60)) and stream == pytest.approx(3 * added)
    assert sizes(scene["sum"])[0] == pytest.approx(added * np.sqrt(9 + 1 + 3))


def test_the_way_from_one_scene_to_the_next_begins_and_ends_there(drawn):
    for seen, scene in zip(drawn["ends"], drawn["made"][:2], strict=True):
        assert [sizes(line) for line in seen["keys"]] == [pytest.approx(sizes(line)) for line in scene["keys"]]
