"""What changed since 2017: the block against torch, the cache by hand, and what the decoder writes by trying all."""
import numpy as np
import pytest

from model.lessons import since
from model.lessons.since import WORDS, encode
from tests.lesson_pages import shown
from tests.model.lessons.test_since import torchs
from viz.pages.since import CHANGES, said_bytes, said_power, writing_numbers


@pytest.mark.parametrize("this", [since.PAPER, since.TODAY, since.Design(groups=3, rms=True, bare=True)])
def test_the_blocks_numbers_are_torchs(this):
    switches = {name: getattr(this, name) for name in CHANGES}
    found = shown("since", guess="b", tokens=131_072, **switches).numbers
    assert found["block"]["length_now"] == pytest.approx(float(torchs(this).norm(dim=-1).mean()))
    assert found["block"]["length_paper"] == pytest.approx(96**0.5, abs=1e-4)
    assert (found["block"]["moved_now"] < 1e-12) == this.rotary
    assert found["cache"]["own"] == said_bytes(131_072 * 48 * this.groups) and found["cache"]["held"] == "17.2 GB"


def likeliest(start: tuple[int, ...]) -> tuple[float, list[int]]:
    """(probability, three words) of the likeliest path of all: every word is tried whose path is likelier so far."""
    best: tuple[float, list[int]] = (0.0, [])

    def go(path: list[int], share: float) -> None:
        nonlocal best
        if len(path) == 3:
            best = max(best, (share, path))
            return
        given = np.exp(since.next_words((*start, *path)))
        for word in np.argsort(-given):
            if share * given[word] <= best[0]:
                return
            go([*path, int(word)], share * given[word])

    go([], 1.0)
    return best


@pytest.mark.parametrize(("text", "how", "amount"), [("the", "beam", 3), ("le", "top_k", 5),
                                                     ("two plus", "top_p", 0.5)])
def test_what_is_written_has_the_models_probabilities(text, how, amount):
    start = tuple(encode(["<start>", *text.split()]))
    found, given = writing_numbers(how, amount, start), np.sort(np.exp(since.next_words(start)))[::-1]
    share, path = likeliest(start)
    assert found["best_said"] == " ".join(WORDS[word] for word in path) and found["best_share"] == pytest.approx(share)
    greedy = encode(found["greedy_said"].split())
    assert found["greedy_share"] == pytest.approx(np.prod(
        [np.exp(since.next_words((*start, *greedy[:at]))).max() for at in range(3)]))
    count = 5 if how == "top_k" else int(np.searchsorted(np.cumsum(given), 0.5)) + 1
    if how != "beam":
        assert found["words"] == count and found["cut"] == pytest.approx(1 - given[:count].sum(), abs=1e-9)
        assert found["first"] == pytest.approx(given[0] / given[:count].sum())


@pytest.mark.parametrize("turned", [{"topic": "experts", "routed": "sum", "balance": False},
                                    {"topic": "writing", "how": "beam"}, {"topic": "scaling", "compute": 27}], ids=str)
def test_every_topic_has_its_numbers(turned):
    found = shown("since", guess="a", **turned).numbers[turned["topic"]]
    if turned["topic"] == "experts":
        assert found["all"] == 4 * found["one"] and found["on"] < found["off"] and found["held_out"] == 400
    if turned["topic"] == "scaling":
        assert found["kaplan_ratio"] < found["hoffmann_ratio"] and found["power"] == "10²⁷" == said_power(27.0)
