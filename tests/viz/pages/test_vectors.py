"""From text to vectors: counts by the tokenizers' library, and the numbers of the opened models by transformers."""
from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoModel, AutoTokenizer

from model.lessons import vectors
from model.pretrained import catalogue
from tests.lesson_pages import array, shown
from viz.text import strings

PROSE = strings("lessons/vectors")
BOOKS, TEXTS = PROSE["presets"]["books"], PROSE["presets"]["texts"]
OPEN = {"typed": TEXTS["english"], "book": BOOKS["low"], "done": 3}


@pytest.mark.parametrize("turned", [
    {}, {"typed": "", "book": "", "done": 512}, {"typed": TEXTS["chinese"], "book": BOOKS["chinese"], "done": 0},
    {"typed": "x", "book": BOOKS["low"], "done": 512}], ids=str)
def test_pieces_and_merges_are_counted_by_the_library(turned):
    found, where = shown("vectors", guess="a", **turned).numbers, OPEN | turned
    cut = vectors.tokenizer_of("minilm").encode(where["typed"], add_special_tokens=False)
    assert found["pieces"]["first"] == len(cut.tokens) and found["pieces"]["unknown"] == cut.tokens.count("[UNK]")
    assert found["pieces"]["bytes"] == len(where["typed"].encode())
    made = vectors.train_bpe(where["book"])
    assert ("merges" in found) == bool(vectors.merges(where["book"]).pairs)
    if where["done"] == 512 and where["book"]:
        assert found["merges"]["now"] == len(made.encode(where["book"]).tokens)
    if where["done"] == 0:
        assert found["merges"]["now"] == found["merges"]["before"] == len(where["book"].encode())


def test_the_chinese_sentence_is_cut_as_minilm_cuts_it():
    found = shown("vectors", guess="d").numbers["chinese"]
    cut = vectors.tokenizer_of("minilm").encode("".join(PROSE["chinese"]["textbook"]), add_special_tokens=False).tokens
    assert 0 < found["unknown"] == cut.count("[UNK]") < len(cut)


@cache
def opened(model: str) -> tuple:
    """(tokenizer, network) of a model as transformers opens them."""
    folder = catalogue.folder_of(catalogue.entry_named(model))
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).float().eval()


def table_is_the_models(found: dict, word: str, model: str) -> None:
    """Fails unless the numbers about a word's neighbours are those of the model's table."""
    tokenizer, network = opened(model)
    table = network.get_input_embeddings().weight.detach().numpy()
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    place = tokenizer.convert_tokens_to_ids(word if model == "minilm" else f"Ġ{word}")
    with_all = (unit @ unit[place]).astype(np.float64)
    with_all[place] = -1
    count, width = table.shape
    every = ((unit.sum(0, dtype=np.float64) ** 2).sum() - count) / (count * (count - 1))
    shape = (width - 1) / 2   # a cosine is 2 B − 1 of a beta variable
    luck = (2 * stats.beta.ppf(((np.arange(4000) + 0.5) / 4000) ** (1 / count), shape, shape) - 1).mean()
    assert found["cosine"] == pytest.approx(with_all.max(), abs=1e-5)
    assert found["nearest"] == tokenizer.decode([int(with_all.argmax())]).replace(" ", "␣")
    assert found["mean"] == pytest.approx(every, abs=0.004) and found["luck"] == pytest.approx(luck, abs=0.0075)
    assert found["above"] == (with_all > found["luck"]).sum()


def states(text: str, word: str, model: str) -> np.ndarray:
    """The vector of a word of one piece behind each block but the last, float64 (layer, d)."""
    tokenizer, network = opened(model)
    read = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans = read.pop("offset_mapping")[0].tolist()
    at = next(place for place, (low, high) in enumerate(spans) if text[low:high].strip().lower() == word)
    with torch.inference_mode():
        return np.array([layer[0, at].double().numpy()
                         for layer in network(**read, output_hidden_states=True).hidden_states])[:-1]


@pytest.mark.parametrize(("case", "model"), [
    ("bank", "minilm"), ("apple", "minilm"), pytest.param("bank", "smollm2", marks=pytest.mark.rest)])
def test_a_word_in_two_contexts_is_compared_by_the_models_vectors(case, model, request):
    if model == "smollm2":
        request.getfixturevalue("smollm2")
    page = shown("vectors", guess="a", open=True, case=case, word="bank", table=model)
    table_is_the_models(page.numbers["table"], "bank", model)
    word, *texts = PROSE["contexts"]["texts"][case]
    first, second, third = (states(text, word, model) for text in texts)

    def cosines(other: np.ndarray) -> np.ndarray:
        return (first * other).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(other, axis=1)

    drawn = {each["name"]: array(each["y"]) for each in page.charts["vectors-contexts"]["data"] if "name" in each}
    for name, other in (("apart", second), ("alike", third)):
        line = drawn[PROSE["contexts"][name]]
        assert line[1:-1] == pytest.approx(cosines(other), abs=1e-3)   # line[0]: the table itself
