"""What the three families say below their pictures, before and after a model has read to its end."""
from model.ask import sources
from model.core.query import FirstLayerQuery
from viz.pages.families.three_models import _says


def test_what_a_model_says_is_left_open_until_every_layer_is_done():
    query = sources.open_query("minilm", "The pictures come before the words.")
    first = sources.ask(FirstLayerQuery(query), "test").result(120)
    assert _says(first, "encoder") == str(first.card.d_model) and _says(first, "decoder") == "…"
    said = _says(sources.ask(sources.open_query("translator", "the cat sat"), "test").result(120), "both")
    assert "EOS" in said and "…" not in said
