"""A head's output from another text, and the effect of each head; `test_edits.py` compares patches with hooks."""
import numpy as np
import pytest

from clearhead.model.core.query import Hide, Kind, Patch, Query, Temper, quiet
from clearhead.model.studies.patching import PassAnswer, PatchQuery, measure_of
from tests.model.only import Only

TEXT = "the animal didn ' t cross the street because [MASK] was too tired"
TWIN = TEXT.replace("tired", "wide")


def query(text, **more):
    return Query("m", "r", text, **more)


def ask(model, text=TEXT, edits=(), **more):
    return model.record(query(text, edits=frozenset(edits), **more), quiet)


@pytest.mark.parametrize(("name", "kind", "own"), [
    ("bert", Kind.SELF, ()), ("llama", Kind.CAUSAL, (Temper(Kind.CAUSAL, 1, 3, 0.3), Hide("source", 3))),
    ("marian", Kind.CROSS, ())])
def test_effect_of_each_head_is_that_of_the_edit(opened, name, kind, own):
    """The map of all heads equals asking the model again with each edit, besides the text's own: ln P of the two words,
    from the record."""
    model = opened(name)
    side = {"target": "a cat sat on it"} if kind is Kind.CROSS else {}
    asked = query(TEXT, edits=frozenset(own), **side)
    found = PatchQuery(asked, query(TWIN, **side), kind).answer(Only(model), quiet)

    def read(record):
        row = record.prediction.positions.index(found.place)
        said = dict(zip(record.prediction.texts[row], record.prediction.probabilities[row], strict=True))
        return None if not all(word in said
                               for word in found.words) else np.log(said[found.words[1]]) - np.log(said[found.words[0]])

    assert read(ask(model, edits=own, **side)) == pytest.approx(found.plain, abs=1e-4)
    checked = 0
    for (layer, head), number in list(zip(found.heads, found.patched, strict=True))[::2]:
        seen = read(ask(model, edits=[*own, Patch(kind, layer, head, query(TWIN, **side))], **side))
        checked += seen is not None
        assert seen is None or number == pytest.approx(seen, abs=1e-4)
    assert checked > 2 and found.turns(found.other) == (found.plain < 0 < found.other)
    if kind is Kind.SELF:   # the mask stands where the words agree
        assert found.whole == pytest.approx(found.other, abs=1e-4)
        assert found.share(found.whole) == pytest.approx(1, abs=1e-4)


FIRST = PassAnswer("target", (4, 7), np.array([[0.0, 3.0, 1.0], [5.0, 1.0, 2.0]], np.float32))
SECOND = PassAnswer("target", (4, 7), np.array([[0.0, 2.0, 1.0], [1.0, 6.0, 2.0]], np.float32))


def test_answers_differ_at_the_first_position():
    read, words, row = measure_of(FIRST, SECOND)
    assert (words, row) == ((0, 1), 1) and read(FIRST) == -4 and read(SECOND) == 5


def test_equal_answers_use_the_second_best():
    read, words, row = measure_of(FIRST, FIRST)
    assert (words, row) == ((0, 2), 1) and read(FIRST) == -3
    following = PassAnswer("next", (0, 1), SECOND.numbers)
    assert measure_of(PassAnswer("next", (0, 1), FIRST.numbers), following)[2] == 1
