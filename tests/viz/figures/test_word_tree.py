"""The tree of words: children below one another, parents in their middle; what is cut off is thin."""
import pytest
from plotly.graph_objects import Figure

from viz.figures.diagrams import Branch, word_tree

BRANCHES = [Branch((0,), "the", "60%", 1.0, "the"), Branch((1,), "a", "40%", 0.0, "a"),
            Branch((0, 5), "cat", "70%", 0.25, "the cat"), Branch((0, 6), "dog", "30%", 0.0, "the dog")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_stand_where_their_branches_end_and_widths_are_what_is_kept(theme):
    spec = word_tree(theme, "so …", BRANCHES).to_plotly_json()
    Figure(spec)                                                         # plotly takes it
    lines, kept, cut = spec["data"][:4], spec["data"][4], spec["data"][5]
    at = {word: (x, y) for trace in (kept, cut) for word, x, y in zip(
        [text.split()[0].strip("</b>") for text in trace["text"]], trace["x"], trace["y"], strict=True)}
    assert set(at) == {"the", "a", "cat", "dog"} and at["cat"][1] > at["dog"][1] > at["a"][1]
    assert at["the"] == (1, pytest.approx((at["cat"][1] + at["dog"][1]) / 2, abs=0.2))
    assert at["cat"][0] == at["dog"][0] == 2
    widths = [line["line"]["width"] for line in lines]
    assert widths[0] > widths[2] > widths[1] == widths[3] and len(kept["x"]) == len(cut["x"]) == 2


def test_a_tree_of_one_word_can_be_drawn():
    assert word_tree("light", "so", BRANCHES[:1]).height > 0
