"""RXNMapper out of its package: its own tokens, and the head that finds each atom again."""
import re

import numpy as np
import pytest

from model.ask import sources
from model.core.heads import weights
from model.core.query import Query, UserError
from model.pretrained import catalogue
from model.pretrained.packaged import rxnmapper

# reactants, product: atoms of both in their order, and for each of the product's the place of that atom before
REACTION = "CC(=O)Cl.OCCc1ccccc1>>CC(=O)OCCc1ccccc1"
FATE = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]   # the chlorine (3) leaves; the ester's oxygen is the alcohol's (4)


def test_pieces_are_those_of_the_expression_and_the_rest_is_dropped(tmp_path):
    from transformers import AutoTokenizer

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "C", "Cl", "c", "[nH]", ">>", "%12", "1", "2"]
    rxnmapper.save_tokenizer(vocabulary, tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "albert"}', encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    found = tokenizer("CClc1[nH]%12>>é C12?", return_offsets_mapping=True)
    pieces = tokenizer.convert_ids_to_tokens(found["input_ids"])
    assert pieces == ["[CLS]", "C", "Cl", "c", "1", "[nH]", "%12", ">>", "C", "1", "2", "[UNK]", "[SEP]"]
    assert found["offset_mapping"][8] == (16, 17)


def test_a_pickle_that_holds_more_than_numbers_is_not_run(tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return print, ("ran",)

    sources = [tmp_path / name for name in ("pytorch_model.bin", "vocab.txt", "config.json")]
    sources[0].write_bytes(pickle.dumps({"albert.x": Evil()}))
    sources[2].write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read as RXNMapper"):
        rxnmapper.convert(sources, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_head_5_of_layer_10_finds_every_atom_of_an_ester_before_the_reaction(rxn):
    record = sources.ask(Query(rxn, sources.revision(rxn), REACTION), "test").result(240)
    assert record.verification.status == "verified" and "IBM RXN team" in record.card.note
    tokens = record.maps[0].queries.texts
    arrow = tokens.index(">>")
    atoms = [place for place, text in enumerate(tokens) if re.fullmatch(r"Cl|[COc]", text)]
    before, after = [place for place in atoms if place < arrow], [place for place in atoms if place > arrow]
    matrix = weights(record.maps[0].layer(10), 5)
    chosen = [int(np.argmax(matrix[place, before])) for place in after]
    assert len(before) == 13 and chosen == FATE
    assert (catalogue.home() / "models" / "rxnmapper" / "tokenizer.json").is_file()
