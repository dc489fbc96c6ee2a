"""A record's parts and its tokens."""
from dataclasses import replace

import numpy as np
import pytest

from clearhead.model.core import heads
from clearhead.model.core.attention import Causal, Dense, Full, Relative
from clearhead.model.core.query import Box, Kind, NotFinite, UserError
from clearhead.model.core.record import AttentionMap, AttentionRecord, Prediction, Reported
from clearhead.model.core.tokens import Tokens, patch_tokens, tokens_of_texts
from tests.fabricate import HEADS, KEYS, KV_HEADS, QUERIES, layer, record


@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(name, bad):
    array = np.array(getattr(layer(), name))
    array[0, 1, 2] = bad
    with pytest.raises(NotFinite, match=f"NaN or infinity in the {name} of layer"):
        layer(**{name: array})


@pytest.mark.parametrize("changes", [
    {"key": np.zeros((4, KEYS, 5), np.float32)},            # six query heads do not share four key heads
    {"key": np.zeros((KV_HEADS, KEYS, 7), np.float32)},     # another d_k
    {"value": np.zeros((KV_HEADS, KEYS + 1, 13), np.float32)},
    {"query": np.zeros((HEADS, QUERIES), np.float32)},
    {"query": np.zeros((HEADS, QUERIES, 5), np.float64)},
    {"sink": np.zeros(HEADS + 1, np.float32)},
    {"allowed": Dense(np.ones((KEYS, QUERIES), bool))},     # transposed
    {"bias": Relative(np.zeros((HEADS, QUERIES + KEYS), np.float32), QUERIES)},
])
def test_shapes_that_do_not_fit_are_refused(changes):
    with pytest.raises(ValueError, match=r"expected .*got"):
        layer(**changes)


@pytest.mark.parametrize("sink", [None, np.zeros(HEADS, np.float32)])
def test_row_without_keys_has_zero_weights(sink):
    mask = np.ones((HEADS, QUERIES, KEYS), bool)
    mask[:, 3] = mask[1] = False
    made = layer(allowed=Dense(mask), sink=sink)
    assert (made.sees_nothing == ~mask.any(-1)).all()
    sums = np.stack([heads.weights(made, head).sum(-1) for head in range(HEADS)])
    assert ((sums == 0) == made.sees_nothing).all() and (sums[~made.sees_nothing] > 0.1).all()


def weights() -> np.ndarray:
    numbers = np.random.default_rng(0).random((HEADS, QUERIES, KEYS)).astype(np.float32)
    return numbers / numbers.sum(-1, keepdims=True)


def test_reported_weights_must_be_weights():
    Reported(0, weights(), Full())
    with pytest.raises(ValueError, match="rows that sum to 1"):
        Reported(0, weights() * np.float32(0.9), Full())
    with pytest.raises(ValueError, match="attends outside its mask"):
        Reported(0, weights(), Causal())
    with pytest.raises(ValueError, match="from 0 to 1"):
        Reported(0, -weights(), Full())


def test_prediction_is_written_by_its_likeliest_last_answers():
    made = Prediction("next", (0, 1), ((1,), (2, 3)), (("a",), ("b", "c")), ((1.0,), (0.75, 0.25)), (0.0, 0.0))
    assert repr(made) == "<Prediction: next 'b' 0.750, 'c' 0.250>"


def test_bytes_count_shared_arrays_once():
    one = record(7)
    parts = one.maps[0].layers
    assert one.nbytes == sum(part.query.nbytes + part.key.nbytes + part.value.nbytes for part in parts)
    again = AttentionMap(Kind.CAUSAL, one.maps[0].queries, one.maps[0].keys, parts)
    both = AttentionRecord(one.query, one.card, (one.maps[0], again), one.verification)
    assert both.nbytes == one.nbytes


def test_texts_become_tokens():
    tokens = tokens_of_texts(("[CLS]", "play", "##ing", "<s>", "##x", "[UNK]", "play"))
    assert tokens.words == (-1, 1, 1, -1, 4, 5, 6) and tokens.ids == (0, 1, 2, 3, 4, 5, 1)
    assert tokens.special == (True, False, False, True, False, False, False)
    assert tokens.segments == (-1, 0, 0, -1, 0, 0, 0) and tokens.unknown == (*[False] * 5, True, False)
    assert tokens.spans == ((0, 5), (6, 10), (11, 16), (17, 20), (21, 24), (25, 30), (31, 35))


def test_tokens_over_a_span_are_of_the_first_text():
    pair = replace(tokens_of_texts(("ab", "cd", "ab", "cd")), segments=(0, 0, 1, 1), spans=((0, 2), (2, 4)) * 2)
    assert [pair.over(span) for span in ((0, 2), (1, 3), (2, 2), (4, 9))] == [(0,), (0, 1), (), ()]


def test_patches_are_row_by_row():
    tokens = patch_tokens(2, 3, before=("[CLS]", "[REG]0"), after=("[DET]",))
    assert tokens.texts == ("[CLS]", "[REG]0", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2", "[DET]")
    assert tokens.special == (True, True, *[False] * 6, True) and tokens.patches == tuple(range(2, 8))
    assert tokens.grid == (2, 3) and tokens.words == (-1, -1, *range(6), -1)
    assert tokens.place(6) == (1, 1) and tokens.patch_at(1, 1) == 6
    assert tokens.place(0) is tokens.place(8) is tokens.patch_at(2, 0) is None
    assert tokens.boxes[6] == pytest.approx(Box(1 / 3, 1 / 2, 2 / 3, 1)) and tokens.boxes[0] is None


def test_token_by_text_occurrence_or_position():
    texts = ("it", "is", "it", "7", "C#", "␣", "[UNK] 猫", "@1", "Ġit")
    tokens = Tokens(texts, tuple(range(9)), (False,) * 9, ((0, 1),) * 9, tuple(range(9)), (0,) * 9,
                    tuple("UNK" in text for text in texts))
    wanted = ("is", " is", "it#1", "it#2", "7", "C#", " ", "猫", "@1", "@3", "@-1", "Ġit", 4, -1, np.int64(-9))
    assert [tokens.index(each) for each in wanted] == [1, 1, 0, 2, 3, 4, 5, 6, 7, 3, 8, 8, 4, 8, 0]
    for each, said in (("it", "2 tokens .*it#1 to it#2$"), (" it", "3 tokens"), ("it#3", "'it#3'; .*: it is it 7"),
                       *((none, "no token .* from 0 to 8") for none in ("it#0", "was", "", "5", "-1", "@9", 9, -10)),
                       *((none, "by its text or by a whole number") for none in (1.0, True, None, np.True_, [1]))):
        with pytest.raises(UserError, match=said) as refused:
            tokens.index(each)
        assert str(refused.value).count("\n") == 0
