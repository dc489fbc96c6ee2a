"""What the three families say below their pictures."""
from model.ask import sources
from viz.pages.families.three_models import best_guess


def test_an_encoder_says_the_size_of_its_vector_and_the_others_their_best_guess():
    first = sources.ask(sources.open_query("minilm", "The pictures come before the words."), "test").result(120)
    assert best_guess(first, "encoder") == str(first.card.d_model)
    both = best_guess(sources.ask(sources.open_query("translator", "the cat sat"), "test").result(120), "both")
    assert "EOS" in both
