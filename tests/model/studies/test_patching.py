"""A head's output from another text, and the effect of each head; `test_edits.py` compares patches with hooks."""
import numpy as np
import pytest

from clearhead.model.core.query import Hide, Kind, Patch, Query, Temper, UserError, quiet
from clearhead.model.studies.patching import PassAnswer, PatchQuery, measure_of
from tests.model.only import Only

TEXT = "the animal didn ' t cross the street because [MASK] was too tired"
TWIN = TEXT.replace("tired", "wide")


def query(text, **more):
    return Query("m", "r", text, **more)


def ask(model, text=TEXT, edits=(), **more):
    return model.record(query(text, edits=frozenset(edits), **more), quiet)


@pytest.mark.parametrize(("name", "kind"), [("bert", Kind.SELF), ("gpt_oss", Kind.CAUSAL), ("t5", Kind.CROSS)])
def test_patch_from_the_same_text_changes_nothing(opened, name, kind):
    model = opened(name)
    plain, same = ask(model), ask(model, edits=[Patch(kind, 1, 1, query(TEXT))])
    np.testing.assert_allclose(same.prediction.probabilities, plain.prediction.probabilities, atol=1e-6)


def test_patch_lengths_by_side(opened):
    model, text, target = opened("bart"), "the cat sat on it", "a cat sat"
    plain = ask(model, text, target=target)
    longer = query("the cat sat on the wide mat", target="a mat sat")
    for kind in (Kind.CAUSAL, Kind.CROSS):   # three target tokens look in both, whatever the encoder read
        edited = ask(model, text, target=target, edits=[Patch(kind, 2, 1, longer)])
        assert edited.verification.status == "verified"
        assert edited.prediction.probabilities != plain.prediction.probabilities
    with pytest.raises(UserError, match="9 tokens in “the cat sat on the wide mat” and 7 here"):
        ask(model, text, target=target, edits=[Patch(Kind.SELF, 0, 0, longer)])
    with pytest.raises(UserError, match="choose a text with the same number of tokens"):
        ask(model, text, target=target, edits=[Patch(Kind.CROSS, 0, 0, query(text, target="a cat sat on it"))])
    other = query("the cat sat on mat", target=target)
    whole = ask(model, text, target=target,
                edits=[Patch(Kind.SELF, layer, head, other) for layer in range(2) for head in range(4)])
    twin = ask(model, "the cat sat on mat", target=target)
    keys = [each[Kind.CROSS].layer(1).key for each in (whole, twin)]
    # the encoder's output is the twin's where the words are
    np.testing.assert_allclose(keys[0][:, :5], keys[1][:, :5], atol=1e-5)


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
