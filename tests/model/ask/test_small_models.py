"""What belongs to the models trained here and to no other."""
from model.ask.sources import text_set


def test_a_small_model_is_asked_over_its_own_texts_and_any_other_over_the_chosen_ones():
    assert text_set("resolver-wide", "label", "sentences") == "resolver"
    assert text_set("induction", "next", "agreement") == "induction"
    assert text_set("minilm", "vector", "agreement") == "agreement"
