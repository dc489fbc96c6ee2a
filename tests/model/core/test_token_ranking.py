"""Which heads look most from a token and at it, against the whole matrices."""
import pytest

from model.core import heads
from model.core.query import Kind
from model.core.view import telling_token, token_ranking
from tests.fabricate import SENTENCE, record


def matrices(attention_map):
    return {(layer.index, head): heads.weights(layer, head) for layer in attention_map.layers
            for head in range(layer.heads)}


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
@pytest.mark.parametrize("token", [0, 1, 8, 10, 15])
def test_each_head_has_its_largest_weight_to_a_word_that_is_no_neighbour(kind, token):
    attention_map = record(SENTENCE, kind)[kind]
    others = [place for place in range(1, 15) if abs(place - token) > 1]
    found = token_ranking(attention_map, token)
    for links, line in ((found.from_token, lambda weights: weights[token]),
                        (found.at_token, lambda weights: weights[:, token])):
        wanted = {head: line(weights)[others] for head, weights in matrices(attention_map).items()}
        assert {(link.layer, link.head): link.weight for link in links} == pytest.approx(
            {head: numbers.max() for head, numbers in wanted.items() if numbers.max() > 0}, abs=1e-6)
        assert all(others[int(wanted[link.layer, link.head].argmax())] == link.other for link in links)
        assert [link.weight for link in links] == sorted((link.weight for link in links), reverse=True)


@pytest.mark.parametrize("text, wanted", [
    ("The students failed because it was hard .", "it"), ("The doctor told her that she should take her break", "she"),
    ("Mary gave him a book .", "him"), ("The cat sat on the mat .", "mat"), ("It rained on the river , too .", "river"),
    ("Le chat dort sur le lit rouge .", "rouge"), ("我 喜欢 苹果 。", "苹果"), ("to be", "be"), ("! ?", "?")])
def test_a_text_opens_on_a_word_that_means_something(text, wanted):
    tokens = record(["[CLS]", *text.split(), "[SEP]"])[Kind.SELF].queries
    assert tokens.texts[telling_token(tokens)] == wanted
