"""The lesson's vectors against the network itself, run by transformers alone."""
import numpy as np
import pytest
import torch

from model.core.query import Query, UserError
from model.lessons import embeddings
from model.lessons.contexts import ContextsQuery, TableQuery
from model.pretrained.trace import trace

TEXTS = ("He sat on the bank of the river.", "She put money into the bank.", "They fished from the bank.",
         "Seven grey horses crossed an old bridge.")


def test_rows_and_neighbours_are_the_networks_own(minilm, report):
    weight = minilm.network.get_input_embeddings().weight.detach()
    ids = tuple(minilm.tokenizer("the cat")["input_ids"])
    found = embeddings.table(minilm, TableQuery("minilm", "r", "bank", ids), report)
    assert np.array_equal(found.rows, weight[list(ids)].numpy()) and found.piece == "bank"
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    wanted = torch.nn.functional.cosine_similarity(weight[bank:bank + 1], weight, dim=-1)
    best = wanted.argsort(descending=True)[1:4].tolist()
    assert [name for name, _ in found.nearest[:3]] == minilm.tokenizer.convert_ids_to_tokens(best)
    assert [each for _, each in found.nearest[:3]] == pytest.approx(wanted[best].tolist(), abs=1e-5)
    for word, why in (("unbelievably", "not one piece"), ("样", "unknown")):
        with pytest.raises(UserError, match=why):
            embeddings.table(minilm, TableQuery("minilm", "r", word, ()), report)


def test_layers_are_the_hidden_states_of_the_network(minilm, report):
    asked = [Query("minilm", "r", text) for text in TEXTS]
    found = embeddings.contexts(minilm, ContextsQuery(*asked, "bank"), lambda query: trace(minilm, query, report))
    with torch.inference_mode():
        read = [minilm.tokenizer(text, return_tensors="pt") for text in TEXTS]
        states = [minilm.network(**each, output_hidden_states=True).hidden_states for each in read]
    bank = minilm.tokenizer.convert_tokens_to_ids("bank")
    places = [each["input_ids"][0].tolist().index(bank) for each in read[:3]]
    for line, side in ((found.apart, 1), (found.alike, 2)):
        wanted = [float(torch.nn.functional.cosine_similarity(one[0, places[0]], other[0, places[side]], dim=0))
                  for one, other in zip(states[0], states[side], strict=True)]
        assert line[1:] == pytest.approx(wanted, abs=1e-5) and line[0] == pytest.approx(1)
