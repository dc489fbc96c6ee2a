"""What the three families say below their pictures, before and after a model has read to its end."""
from model.ask import sources
from model.core.query import FirstLayerQuery
from viz.pages.families.three_models import best_guess


def test_what_a_model_says_is_left_open_until_every_layer_is_done():
    query = sources.open_query("minilm", "The pictures come before the words.")
    first = sources.ask(FirstLayerQuery(query), "test").result(120)
    assert best_guess(first, "encoder") == str(first.card.d_model) and best_guess(first, "decoder") == "…"
    said = best_guess(sources.ask(sources.open_query("translator", "the cat sat"), "test").result(120), "both")
    assert "EOS" in said and "…" not in said
