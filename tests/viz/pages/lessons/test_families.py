"""The page Encoder and decoder, compared with recomputed numbers for a short and a long sentence."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.core.query import Kind
from clearhead.model.studies.predictions import LikelihoodQuery
from clearhead.viz.pages.lessons.families import STANDS_IN, TEXT, hiding_edits, swap_gender
from tests.lesson_pages import shown
from tests.model.only import ask


@pytest.fixture(autouse=True)
def without_the_fetched_decoder(monkeypatch):
    """Hide the decoder, which another test may fetch meanwhile."""
    offers = sources.catalogue()
    offers["smollm2"] = replace(offers["smollm2"], on_disk=False)
    monkeypatch.setattr(sources, "catalogue", lambda: offers)


@pytest.mark.parametrize(("text", "part", "hide", "whose"), [
    (TEXT, "cross", 5, "both"), ("the cat", "decoder", 60, "decoder"), ("Tired", "encoder", 1, "both")])
def test_shapes_masks_and_products_equal_the_model(text, part, hide, whose):
    found = shown("families", guess="a", say=text, part=part, hide=hide, whose=whose).numbers
    crossing = ask(sources.open_query("translator", text))[Kind.CROSS]
    assert (found["inputs"]["n"], found["inputs"]["m"]) == (len(crossing.keys), len(crossing.queries))
    assert found["inputs"]["tensors"].apart < 1e-4 and found["three"]["encoder"] == 1
    n = found["three"]["tokens"]
    assert found["three"]["decoder"] == pytest.approx((n + 1) / (2 * n))
    assert ("hidden" in found) == (" " in text)
    if "hidden" in found:   # in a decoder nothing left of the hidden word moves
        moved, count = map(int, found["hidden"]["encoder"].split(" of "))
        assert moved == count and int(found["hidden"]["decoder"].split(" of ")[0]) < n
    if whose == "decoder":
        logs = np.array(ask(LikelihoodQuery(sources.open_query(STANDS_IN, text))).log_probabilities, float)
        assert found["factors"]["power"] == pytest.approx(logs.sum() / np.log(10))
        assert found["factors"]["perplexity"] == pytest.approx(np.exp(-logs.mean()), rel=1e-5)
        assert found["factors"]["share"] == pytest.approx(logs.min() / logs.sum())
    assert found["steps"]["difference"] < 1e-4


def test_hiding_spares_special_tokens_and_the_first():
    tokens = SimpleNamespace(spans=[(0, 3), (0, 3), (4, 7)], special=[True, False, False])
    assert [edit.token for edit in hiding_edits(tokens, (4, 7))] == [2]


def test_only_pronouns_change_their_gender():
    assert swap_gender("il dit qu'elle file") == "elle dit qu'il file"
