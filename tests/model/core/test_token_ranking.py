"""Which heads look most from a token and at it, against the whole matrices."""
import numpy as np
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


def test_a_token_of_a_decoder_looks_and_nobody_looks_at_it_across():
    attention_map = record(["le", "chat"], Kind.CROSS, keys=["the", "cat", "[SEP]"], special=(2,))[Kind.CROSS]
    found = token_ranking(attention_map, 1)
    assert found.at_token == () and {link.other for link in found.from_token} <= {0, 1}


def test_the_first_word_that_reads_left_to_right_has_nobody_to_look_at():
    found = token_ranking(record(["a", "b", "c"], Kind.CAUSAL)[Kind.CAUSAL], 0)
    assert found.from_token == () and {link.other for link in found.at_token} <= {2}
    assert np.isfinite([link.weight for link in found.at_token]).all()


@pytest.mark.parametrize("text, wanted", [
    ("The students failed because it was hard .", "it"), ("The doctor told her that she should take her break", "she"),
    ("Mary gave him a book .", "him"), ("The cat sat on the mat .", "mat"), ("It rained on the river , too .", "river"),
    ("Le chat dort sur le lit rouge .", "rouge"), ("我 喜欢 苹果 。", "苹果"), ("to be", "be"), ("! ?", "?")])
def test_a_text_opens_on_a_word_that_means_something(text, wanted):
    tokens = record(["[CLS]", *text.split(), "[SEP]"])[Kind.SELF].queries
    assert tokens.texts[telling_token(tokens)] == wanted
