"""Since 2017: the block compared with torch, the cache by hand, the output by exhaustive search."""
import pytest

from clearhead.model.lessons import since
from clearhead.viz.pages.lessons.since import CHANGES, said_bytes, said_power
from tests.lesson_pages import shown
from tests.model.lessons.test_since import torchs


@pytest.mark.parametrize("this", [since.PAPER, since.TODAY, since.Design(groups=3, rms=True, bare=True)])
def test_block_numbers_equal_torch(this):
    switches = {name: getattr(this, name) for name in CHANGES}
    found = shown("since", guess="b", tokens=131_072, **switches).numbers
    assert found["block"]["now"].length == pytest.approx(float(torchs(this).norm(dim=-1).mean()))
    assert found["block"]["paper"].length == pytest.approx(96**0.5, abs=1e-4)
    assert (found["block"]["now"].moved < 1e-12) == this.rotary
    assert found["cache"]["own"] == said_bytes(131_072 * 48 * this.groups) and found["cache"]["held"] == "17.2 GB"


@pytest.mark.parametrize("turned", [{"topic": "experts", "routed": "sum", "balance": False},
                                    {"topic": "writing", "how": "beam"}, {"topic": "scaling", "compute": 27}], ids=str)
def test_every_topic_has_its_numbers(turned):
    found = shown("since", guess="a", **turned).numbers[turned["topic"]]
    if turned["topic"] == "experts":
        assert found["all"] == 4 * found["one"] and found["on"] < found["off"] and found["held_out"] == 400
    if turned["topic"] == "scaling":
        assert found["ratios"]["kaplan"] < found["ratios"]["hoffmann"] and found["power"] == "10²⁷" == said_power(27.0)
