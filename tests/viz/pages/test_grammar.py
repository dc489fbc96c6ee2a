"""The page Grammar: drawings and sentences for a report, and the page with MiniLM."""
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from clearhead.model.core.query import quiet
from clearhead.model.studies.syntax import NOTHING, Choices, Sentence, SyntaxQuery, Word, summary
from clearhead.viz.pages.grammar import beyond, claims, table_of
from clearhead.viz.style.text import strings

SENTENCE = Sentence(1, "the cat ate fish", (Word("the", 2, "det"), Word("cat", 3, "nsubj"), Word("ate", 0, "root"),
                                            Word("fish", 3, "obj")), ())
OTHER = Sentence(7, "fish the cat ate", (Word("fish", 4, "obj"), Word("the", 3, "det"), Word("cat", 4, "nsubj"),
                                         Word("ate", 0, "root")), ())


def report_of(copies=20, possible=True):
    """Over as many sentences of each kind, one head looks where the tree says, one at the next word."""
    sentences = (SENTENCE, OTHER, OTHER, SENTENCE) * (copies // 2)
    looked = [[[1, 2, NOTHING, 2], [1, 2, 3, NOTHING]] if each is SENTENCE else [[3, 2, 3, NOTHING], [1, 2, 3, NOTHING]]
              for each in sentences]
    count = len(sentences)
    words = [word for each in sentences for word in each.words]
    found = Choices(((0, 0), (0, 1)), np.arange(count), np.arange(count), np.full(count, 4),
                    np.concatenate(np.array(looked, np.int16), axis=1), np.ones(4 * count, bool),
                    np.array([word.head - 1 for word in words], np.int16), np.array([word.relation for word in words]),
                    np.full((2, 4 * count), possible))
    return summary(SyntaxQuery("fake", "0", sentences), found, quiet)


@pytest.fixture(scope="module")
def report():
    return report_of()


def test_relations_beyond_offset_and_chance_are_marked(report):
    names = {score.name: beyond(score) for score in report.relations}
    assert names == {"det": False, "nsubj": False, "obj": True}   # det and nsubj have one offset
    told = claims(report)
    assert told[0] == strings("grammar")["claims"]["above"].format(n=3, count=1, names="*obj*") and len(told) == 1
    table = table_of(report)
    marks = dict(zip(table["relation"], table["beyond"], strict=True))
    assert marks == {"det": "", "nsubj": "", "obj": "✓"} and "possible_head" not in table
    assert (table["held_out"] == 100).all() and (table["n"] == 40).all()


@pytest.mark.parametrize("low, offset, luck, above", [
    (0.55, 0.5, 0.4, True), (0.55, 0.4, 0.5, True), (0.45, 0.5, 0.4, False), (0.45, 0.4, 0.5, False),
    (0.5004, 0.5001, 0.4, True), (0.5, 0.5, 0.5, False), (float("nan"), 0.1, 0.1, False)])
def test_head_is_beyond_chance_if_its_interval_is(report, low, offset, luck, above):
    score = report.named("obj")
    score = replace(score, held_out=replace(score.held_out, low=low), offset=offset,
                    luck=replace(score.luck, high=luck))
    assert beyond(score) == above


def grammar():
    from clearhead.viz.app.page import PageContext, pages

    page, render = pages()["grammar"]
    render(PageContext("grammar", page, {}))


def test_page_shows_a_table_and_a_sentence():
    app = AppTest.from_function(grammar).run(timeout=120)
    assert not app.exception and not app.error
    words = strings("grammar")
    assert len(app.dataframe) == 1 and len(app.dataframe[0].value) > 15
    relation = next(box for box in app.selectbox if box.label == words["relation"])
    relation.select("obj").run(timeout=60)
    assert not app.exception and not app.error
    assert any("obj" in each.value and "of 1 right" in each.value for each in app.markdown)
