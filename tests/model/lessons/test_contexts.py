"""Neighbours against torch, the luck of a nearest neighbour against its distribution, and words found where they
stand; the vectors against the network itself, run by transformers alone."""
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from model.core.query import Query, UserError
from model.core.record import Tokens
from model.lessons import vectors
from model.lessons.vectors import ContextsQuery, TableQuery

TEXTS = ("He sat on the bank of the river.", "She put money into the bank.", "They fished from the bank.",
         "Seven grey horses crossed an old bridge.")
TEXT = "The bank, a bank!"
TOKENS = Tokens(("[CLS]", "The", "ba", "nk", ",", "a", "bank", "!", "[SEP]"), tuple(range(9)),
                (True, *[False] * 7, True),
                ((0, 0), (0, 3), (4, 6), (6, 8), (8, 9), (10, 11), (12, 16), (16, 17), (0, 0)),
                (-1, 0, 1, 1, 2, 3, 4, 5, -1), (-1, *[0] * 7, -1), (False,) * 9)


def test_neighbours_are_the_largest_cosines_and_leave_the_word_itself_out():
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
def test_luck_is_the_expected_largest_cosine_of_random_directions(vocabulary, d_model):
    """(1 + cos)/2 of random directions has the beta distribution with both parameters (d − 1)/2."""
    cosine = stats.beta((d_model - 1) / 2, (d_model - 1) / 2, loc=-1, scale=2)
    wanted = 1 - integrate.quad(lambda x: cosine.cdf(x) ** vocabulary, -1, 1, points=[0.1, 0.2, 0.3, 0.7])[0]
    assert vectors.luck(vocabulary, d_model) == pytest.approx(wanted, rel=0.03)


def test_a_word_is_found_whole_first_then_as_characters_and_missed_with_a_sentence():
    assert vectors.find(TOKENS, TEXT, "bank") == [2, 3] and vectors.find(TOKENS, TEXT, "A") == [5]
    assert vectors.find(TOKENS, TEXT, "nk, a") == [3, 4, 5]
    for missing in ("tree", ""):
        with pytest.raises(UserError, match="write a sentence"):
            vectors.find(TOKENS, TEXT, missing)


def test_a_word_in_one_context_is_itself_and_unrelated_words_are_all_pairs_spelled_differently():
    rng = np.random.default_rng(2)
    states = [[rng.standard_normal((9, 6)) for _ in range(3)] for _ in range(2)]
    found = vectors.compare("bank", (TEXT,) * 4, [TOKENS] * 4, [states[0], states[1], states[0], states[1]])
    word = [[layer[[2, 3]].mean(0) for layer in each] for each in states]
    wanted = [float(torch.nn.functional.cosine_similarity(torch.tensor(one), torch.tensor(other), dim=0))
              for one, other in zip(*word, strict=True)]
    assert found.apart == pytest.approx(wanted) and found.alike == pytest.approx(np.ones(3))
    # after the first word: bank, a, bank; each bank has one partner that is spelled otherwise, the a has two, in three
    # sentences
    assert found.pairs == 3 * (1 + 2 + 1) and found.pieces == ("ba", "nk") and not found.unknown and not found.leads
    assert vectors.compare("the", (TEXT,) * 4, [TOKENS] * 4, [states[0]] * 4).leads
    assert (found.low < found.unrelated).all() and (found.unrelated < found.high).all()


def test_rows_and_neighbours_are_the_networks_own(minilm, report):
    weight = minilm.network.get_input_embeddings().weight.detach()
    ids = tuple(minilm.tokenizer("the cat")["input_ids"])
    found = vectors.look_up(minilm, TableQuery("minilm", "r", "bank", ids), report)
    assert np.array_equal(found.rows, weight[list(ids)].numpy()) and found.piece == "bank"
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    wanted = torch.nn.functional.cosine_similarity(weight[bank:bank + 1], weight, dim=-1)
    best = wanted.argsort(descending=True)[1:4].tolist()
    assert [name for name, _ in found.nearest[:3]] == minilm.tokenizer.convert_ids_to_tokens(best)
    assert [each for _, each in found.nearest[:3]] == pytest.approx(wanted[best].tolist(), abs=1e-5)
    for word, why in (("unbelievably", "not one piece"), ("样", "unknown")):
        with pytest.raises(UserError, match=why):
            vectors.look_up(minilm, TableQuery("minilm", "r", word, ()), report)


def test_layers_are_the_hidden_states_of_the_network(minilm, report):
    asked = [Query("minilm", "r", text) for text in TEXTS]
    models = SimpleNamespace(open=lambda asked, report: minilm, trace=minilm.trace)
    found = ContextsQuery(*asked, "bank").answer(models, report)
    with torch.inference_mode():
        read = [minilm.tokenizer(text, return_tensors="pt") for text in TEXTS]
        states = [minilm.network(**each, output_hidden_states=True).hidden_states for each in read]
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    places = [each["input_ids"][0].tolist().index(bank) for each in read[:3]]
    for line, side in ((found.apart, 1), (found.alike, 2)):
        wanted = [float(torch.nn.functional.cosine_similarity(one[0, places[0]], other[0, places[side]], dim=0))
                  for one, other in zip(states[0], states[side], strict=True)]
        assert line[1:] == pytest.approx(wanted, abs=1e-5) and line[0] == pytest.approx(1)
