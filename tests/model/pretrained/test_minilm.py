"""The model that is there from the start: the figures of the headline sentence, its sentence vector, and whatever
people type."""
import numpy as np
import pytest

from model.core import heads
from model.core.query import Kind, Query, UserError
from tests import headline
from tests.headline import TIRED, near


def ask(minilm, text, **more):
    return minilm.record(Query("minilm", "r", text, **more), lambda fraction, text: None)


def test_the_headline_pair(minilm):
    record = ask(minilm, TIRED)
    tokens = record[Kind.SELF].queries
    it, animal, street = (tokens.texts.index(word) for word in ("it", "animal", "street"))
    ranked = heads.rank_heads_for_pair(record[Kind.SELF], it, animal)
    assert len(ranked) == 72 and ranked[0][:2] == (3, 1) and ranked[1][:2] == (5, 11)
    assert [ranked[0][2], ranked[1][2]] == [near(headline.ANIMAL), near(headline.SECOND_HEAD)]
    wide = heads.weights(ask(minilm, headline.WIDE)[Kind.SELF].layer(3), 1)
    assert wide[it, [animal, street]].tolist() == [near(headline.ANIMAL_IN_WIDE), near(headline.STREET_IN_WIDE)]


def test_the_sentence_vector_is_that_of_sentence_transformers(minilm):
    """Pooled and normalised as the model's own folder says: the mean over tokens, of length 1."""
    import torch

    ours = ask(minilm, TIRED).prediction.vector
    with torch.inference_mode():
        states = minilm.network(**minilm.tokenizer(TIRED, return_tensors="pt")).last_hidden_state[0]
    mean = states.mean(0)
    np.testing.assert_allclose(ours, mean / mean.norm(), atol=1e-6)
    near, far = ask(minilm,
                    TIRED.replace("street",
                                  "road")).prediction.vector, ask(minilm, "Stocks fell on Monday.").prediction.vector
    assert ours @ near > 0.9 > 0.3 > ours @ far


@pytest.mark.parametrize("text", ["\x00", "\u200b\u200b", "\u0301"])
def test_a_text_of_which_nothing_is_read_is_one_sentence(minilm, text):
    with pytest.raises(UserError, match="reads nothing"):
        ask(minilm, text)


def test_chinese_says_unknown_loudly_and_shows_what_was_typed(minilm):
    tokens = ask(minilm, "这个苹果很好吃").maps[0].queries
    assert tokens.texts[1] == "[UNK] 这" and tokens.unknown[1]
    assert tokens.spans[1] == (0, 1) and sum(tokens.unknown) == 7


def test_a_pair_is_told_apart(minilm):
    tokens = ask(minilm, "It is a bank.", text_b="The river.").maps[0].queries
    assert tokens.segments == (-1, 0, 0, 0, 0, 0, -1, 1, 1, 1, -1)
    assert tokens.spans[7] == (0, 3)
