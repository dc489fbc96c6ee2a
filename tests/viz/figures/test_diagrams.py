"""Trees: every relation is an arc, and every word is at the end of its branch."""
import pytest
from plotly.graph_objects import Figure

from viz.figures.diagrams import Branch, Look, dependency_tree, sentence_width, word_tree

WORDS, HEADS, RELATIONS = ("the", "<b>cat", "ate", "fish"), (1, 2, -1, 2), ("det", "nsubj", "root", "obj")
LOOKS = [Look(0, 1, True, "the looks at cat"), Look(1, 3, False, "cat looks at fish"), Look(3, None, False, "nothing")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_relations_are_arcs_above_and_choices_below(theme):
    spec = dependency_tree(theme, WORDS, HEADS, RELATIONS, "obj", LOOKS).to_plotly_json()
    Figure(spec)   # plotly takes it
    arcs = [trace for trace in spec["data"] if trace["mode"] == "lines" and len(trace["x"]) > 2]
    above, below = ([arc for arc in arcs if (max(arc["y"], key=abs) > 0) is up] for up in (True, False))
    assert len(above) == 3 and len(below) == 2
    middles = next(trace["x"] for trace in spec["data"] if trace["name"] == "words")
    assert middles == sorted(middles) and middles[-1] < sentence_width(WORDS, HEADS, RELATIONS)
    for arc, (start, end) in zip([*above, *below], [(1, 0), (2, 1), (2, 3), (0, 1), (1, 3)], strict=True):
        assert [arc["x"][0], arc["x"][-1]] == pytest.approx([middles[start], middles[end]], abs=6)
    assert [arc["line"]["width"] for arc in above] == [1, 1, 2]   # obj stands out
    assert [arc["line"]["dash"] for arc in below] == ["solid", "dash"]
    assert below[0]["line"]["color"] != below[1]["line"]["color"]


BRANCHES = [Branch((0,), "the", "60%", 1.0, "the"), Branch((1,), "a", "40%", 0.0, "a"),
            Branch((0, 5), "cat", "70%", 0.25, "the cat"), Branch((0, 6), "dog", "30%", 0.0, "the dog")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_at_the_ends_of_their_branches(theme):
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
