"""Pieces and merges compared with the tokenizers library, and contextual vectors with the network."""
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from clearhead.model.core.query import Query, UserError
from clearhead.model.lessons import vectors
from clearhead.model.lessons.vectors import ContextsQuery, TableQuery
from clearhead.model.pretrained.tokens import bytes_by_sign
from tests.model.only import Only

TEXTS = ("Unbelievable! The café's tokenizer isn't naïve.", "今天天气怎么样？", "x_1 ** 2  # ok", "👩‍🚀 ≈ π\tü", "")
BOOK = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"


def greedy(word: str, vocabulary: set[str]) -> list[str]:
    """Split as WordPiece is defined: the longest piece from the left, with ## inside a word, [UNK] if none."""
    found, start = [], 0
    while start < len(word):
        ends = (end for end in range(len(word), start, -1) if ("##" if start else "") + word[start:end] in vocabulary)
        end = next(ends, None)
        if end is None:
            return ["[UNK]"]
        found.append(("##" if start else "") + word[start:end])
        start = end
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_wordpiece_takes_the_longest_piece_from_the_left(text):
    cut = vectors.cut(text, "minilm")
    vocabulary = set(vectors.tokenizer_of("minilm").get_vocab())
    assert [piece for piece, added in zip(cut.pieces, cut.special, strict=True) if not added] == [
        piece for word in cut.words for piece in greedy(word, vocabulary)]
    assert cut.vocabulary == len(vocabulary)
    assert [vectors.tokenizer_of("minilm").id_to_token(each) for each in cut.ids] == list(cut.pieces)
    assert [each == "[UNK]" for each in cut.pieces] == list(cut.unknown)


@given(st.text(max_size=40))
def test_byte_level_pieces_are_the_bytes_of_the_text(text):
    cut = vectors.cut_by_own(text, BOOK)
    assert bytes(bytes_by_sign()[sign] for sign in "".join(cut.pieces)) == text.encode()


@given(st.text("ab c天", max_size=60))
def test_merges_join_the_most_frequent_pairs(book):
    found = vectors.merges(book)
    for done, pair in enumerate(found.pairs):
        counts = vectors.pair_counts(found.words, found.pairs[:done])
        assert counts[pair] == max(counts.values()) >= 2
    assert max(vectors.pair_counts(found.words, found.pairs).values(), default=0) < 2
    for done in (0, len(found.pairs)):
        assert found.lengths[done] == sum(times * len(vectors.apply(word, found.pairs[:done]))
                                          for word, times in found.words)


def test_merges_equal_the_librarys():
    made, found = vectors.train_bpe(BOOK), vectors.merges(BOOK)
    for text in (BOOK, " lowest newer wide", "slow  westerly"):
        words = [word for word, _ in made.pre_tokenizer.pre_tokenize_str(text)]
        assert [piece for word in words for piece in vectors.apply(word, found.pairs)] == made.encode(text).tokens


SENSES = ("He sat on the bank of the river.", "She put money into the bank.", "They fished from the bank.",
         "Seven grey horses crossed an old bridge.")


def test_neighbours_are_the_largest_cosines():
    table = np.random.default_rng(1).standard_normal((200, 16)).astype(np.float32)
    table[7] = 2 * table[5]
    order, others, pairs = vectors.neighbours(table, 5)
    wanted = torch.nn.functional.cosine_similarity(torch.tensor(table[5:6]), torch.tensor(table), dim=-1).numpy()
    assert order[0] == 7 and 5 not in order
    assert order == [int(each) for each in np.argsort(-wanted) if each != 5][:vectors.NEAREST]
    assert others == pytest.approx(np.delete(wanted, 5), abs=1e-6)
    assert len(pairs) > 9_900 and abs(pairs.mean()) < 0.02
    assert (pairs > 0.999).sum() < 20   # never a row with itself; rows 5 and 7 meet now and then


@pytest.mark.parametrize(("vocabulary", "d_model"), [(30_522, 384), (500, 16)])
def test_chance_is_the_expected_largest_cosine(vocabulary, d_model):
    """(1 + cos)/2 of random directions has the beta distribution with both parameters (d − 1)/2."""
    cosine = stats.beta((d_model - 1) / 2, (d_model - 1) / 2, loc=-1, scale=2)
    wanted = 1 - integrate.quad(lambda x: cosine.cdf(x) ** vocabulary, -1, 1, points=[0.1, 0.2, 0.3, 0.7])[0]
    assert vectors.luck(vocabulary, d_model) == pytest.approx(wanted, rel=0.03)


def test_rows_and_neighbours_equal_the_network(minilm, report):
    weight = minilm.network.get_input_embeddings().weight.detach()
    ids = tuple(minilm.tokenizer("the cat")["input_ids"])
    found = TableQuery("minilm", "r", "bank", ids).answer(Only(minilm), report)
    assert np.array_equal(found.rows, weight[list(ids)].numpy())
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    wanted = torch.nn.functional.cosine_similarity(weight[bank:bank + 1], weight, dim=-1)
    best = wanted.argsort(descending=True)[1:4].tolist()
    assert [name for name, _ in found.nearest[:3]] == minilm.tokenizer.convert_ids_to_tokens(best)
    assert [each for _, each in found.nearest[:3]] == pytest.approx(wanted[best].tolist(), abs=1e-5)
    for word, why in (("unbelievably", "is 5 pieces"), ("样", "does not know")):
        with pytest.raises(UserError, match=why):
            TableQuery("minilm", "r", word, ()).answer(Only(minilm), report)


def test_layers_are_the_hidden_states_of_the_network(minilm, report):
    asked = [Query("minilm", "r", text) for text in SENSES]
    models = SimpleNamespace(open=lambda asked, report: minilm, trace=minilm.trace)
    found = ContextsQuery(*asked, "bank").answer(models, report)
    with torch.inference_mode():
        read = [minilm.tokenizer(text, return_tensors="pt") for text in SENSES]
        states = [minilm.network(**each, output_hidden_states=True).hidden_states for each in read]
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    places = [each["input_ids"][0].tolist().index(bank) for each in read[:3]]
    for line, side in ((found.apart, 1), (found.alike, 2)):
        wanted = [float(torch.nn.functional.cosine_similarity(one[0, places[0]], other[0, places[side]], dim=0))
                  for one, other in zip(states[0], states[side], strict=True)]
        assert line[1:] == pytest.approx(wanted, abs=1e-5) and line[0] == pytest.approx(1)


def test_pairs_are_merged_from_the_left():
    assert vectors.merge_pair(("a", "a", "a", "b"), ("a", "a")) == ("aa", "a", "b")
    assert vectors.show_piece("Ġlow") == "␣low" and vectors.show_piece("ä»") == "E4 BB"
    assert vectors.show_piece("å¤©æ") == "天 E6"
