"""Many texts: records one at a time, and their weights in a Parquet file."""
import gc
import sys
import weakref

import numpy as np
import pandas
import pytest
import torch
import transformers
from pyarrow import parquet

import clearhead
from clearhead import streaming
from clearhead.record import MODELS
from tests.model import tiny

TEXTS = ["a cat sat on mat", "it was too tired because a cat sat", "a mat", "a cat sat on mat because it was too tired"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("streaming") / "llama", "llama")


@pytest.fixture(scope="module")
def model(folder):
    return clearhead.open(str(folder))


def reference(folder, texts):
    """Yield (tokens, attentions) by transformers with eager attention."""
    network = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text in texts:
        read = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            made = network(**read, output_attentions=True, use_cache=False).attentions
        yield len(read["input_ids"][0]), torch.stack(made)[:, 0].numpy()


def test_each_keeps_one_record_and_leaves_the_cache_as_it_was(model):
    kept = model("a cat was tired")
    texts = [f"{text} cat" for text in TEXTS]   # which no other test asks
    before, seen = set(MODELS.cache._answers), []
    for record in model.each((text for text in texts), silence=iter([(1, 0)])):
        assert [each() for each in seen] == [None] * len(seen)
        assert not record.output(1, 0).any()
        record.writes("cat", "mat")
        seen.append(weakref.ref(record))
        del record
        gc.collect()
    assert len(seen) == len(texts) and set(MODELS.cache._answers) == before and kept.verified
    next(loop := model.each(texts))
    loop.close()
    assert set(MODELS.cache._answers) == before


@pytest.mark.parametrize("size", [2**18, 20])   # 20: smaller than one head, so that queries are cut, too
@pytest.mark.parametrize("heads", [None, [(2, 3), (0, 1)]])
def test_table_has_every_weight_of_transformers(folder, model, tmp_path, monkeypatch, heads, size):
    monkeypatch.setattr(streaming, "ROWS", size)
    path = clearhead.table(model, iter(TEXTS), tmp_path / "w.parquet", heads)
    found = pandas.read_parquet(path)
    assert size > 20 or parquet.ParquetFile(path).num_row_groups > len(TEXTS)
    rows, chosen = 0, heads or [(layer, head) for layer in range(3) for head in range(4)]
    for number, (count, attentions) in enumerate(reference(folder, TEXTS)):
        tokens = np.array(model(TEXTS[number]).tokens)
        own = found[found.text == number]
        for layer, head in chosen:
            here = own[(own.layer == layer) & (own["head"] == head)]
            square = np.full((count, count), np.nan)
            square[here.query_position, here.key_position] = here.weight
            np.testing.assert_allclose(square, attentions[layer, head], atol=1e-5)
            assert (tokens[here.query_position] == here["query"]).all()
            assert (tokens[here.key_position] == here.key).all()
            rows += len(here)
    assert rows == len(found)


def test_a_stopped_table_leaves_the_old_file(model, tmp_path, monkeypatch, capsys):
    path = tmp_path / "w.parquet"
    path.write_bytes(b"old")

    def stopped(error):
        yield from TEXTS[:2]
        raise error

    for error in (KeyboardInterrupt(), ValueError("no more")):
        with pytest.raises(type(error)):
            clearhead.table(model, stopped(error), path)
        assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    for wrong in ({"texts": "letters"}, {"texts": [*TEXTS, ""]}, {"heads": [(9, 9)]}, {"heads": []}, {"map": "cross"},
                  {"path": tmp_path / "none" / "w.parquet"}):
        with pytest.raises(clearhead.Error):
            clearhead.table(model, **({"texts": TEXTS, "path": path} | wrong))
    assert path.read_bytes() == b"old" and capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert len(pandas.read_parquet(clearhead.table(model, [], path))) == 0
    clearhead.table(model, TEXTS, path)
    assert f"/{len(TEXTS)} [" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(clearhead.Error, match=r"pip install \"clearhead\[formats\]\""):
        clearhead.table(model, TEXTS, path)
