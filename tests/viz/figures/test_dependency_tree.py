"""The tree above, the head's choices below: arcs from word to word, marks, and room for all words."""
import pytest
from plotly.graph_objects import Figure

from viz.figures.diagrams import Look, dependency_tree, sentence_width

WORDS, HEADS, RELATIONS = ("the", "<b>cat", "ate", "fish"), (1, 2, -1, 2), ("det", "nsubj", "root", "obj")
LOOKS = [Look(0, 1, True, "the looks at cat"), Look(1, 3, False, "cat looks at fish"), Look(3, None, False, "nothing")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_relation_is_an_arc_above_and_every_choice_one_below(theme):
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


def test_marks_say_what_is_right_and_words_are_no_markup():
    spec = dependency_tree("light", WORDS, HEADS, RELATIONS, "obj", LOOKS).to_plotly_json()
    texts = [text for trace in spec["data"] if trace["mode"] == "text" for text in trace["text"]]
    assert (texts.count("✓"), texts.count("✗")) == (1, 2)   # the second ✗ under the word that may look at nothing
    assert "&lt;b&gt;cat" in texts and {"det", "nsubj", "obj"} <= set(texts) and "root" not in texts


def test_an_arc_over_others_is_higher_and_neighbours_have_room_for_their_relation():
    heads = (-1, 0, 1, 0)
    spec = dependency_tree("light", WORDS, heads, ("root", "a", "b", "c"), "a", []).to_plotly_json()
    tops = [max(trace["y"]) for trace in spec["data"] if trace["mode"] == "lines" and len(trace["x"]) > 2]
    assert tops[2] > max(tops[:2])
    assert sentence_width(WORDS, heads, ("root", "a long relation", "b", "c")) > sentence_width(
        WORDS, heads, ("root", "a", "b", "c"))


def test_a_sentence_of_one_word_can_be_drawn():
    assert dependency_tree("light", ["Go"], [-1], ["root"], "obj", []).height > 0
