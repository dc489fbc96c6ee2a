"""A damaged folder opens correctly or gives one sentence about the folder, whatever the damage."""
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as draws

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Query, UserError, quiet
from clearhead.model.pretrained import load
from tests.model.pretrained import damage
from tests.model.pretrained.damage import LISTED, Damage

TEXT = "the cat sat on a mat"
FEW = 10    # times as many examples has the suite's profile elsewhere: each opens a model here


def sentence_about(folder: Path) -> str:
    """Return the error of opening and asking this folder; empty if the model answers correctly."""
    try:
        opened = load.locate(str(folder)).open(quiet)
        record = opened.record(Query(str(folder), load.locate(str(folder)).revision, TEXT), quiet)
    except UserError as error:
        return str(error)
    assert record.verification.status in ("verified", "reported")
    assert record.prediction is None or np.isfinite(record.prediction.probabilities).all()
    assert all(np.isfinite(layer.query).all() for each in record.maps for layer in each.layers)
    return ""


def check_sentence(said: str, folder: Path) -> None:
    assert "\n" not in said and said.endswith(".") and len(said) < 700 + len(str(folder)), said
    assert "computation failed" not in said and "Traceback" not in said
    assert str(folder) in said or folder.name in said or "tokenizer" in said, said


@pytest.mark.parametrize("kind", damage.KINDS)
def test_sound_folder_of_each_kind_opens(kind, tmp_path):
    assert sentence_about(damage.sound_folder(tmp_path, kind)) == ""


@hypothesis.settings(max_examples=max(1, hypothesis.settings().max_examples // FEW))
@hypothesis.given(draws.data())
def test_damaged_folder_opens_or_gives_one_sentence(tmp_path_factory, data):
    kind = data.draw(draws.sampled_from(sorted(damage.KINDS)))
    spoilt: Damage = data.draw(draws.sampled_from(LISTED) | damage.damages(kind))
    hypothesis.assume(kind != "bert" or "generation_config" not in spoilt.name)
    folder = damage.sound_folder(tmp_path_factory.mktemp("damaged"), kind)
    spoilt.spoil(folder)
    said = sentence_about(folder)
    if said:
        check_sentence(said, folder)


def test_tokenizer_panic_is_one_sentence(tmp_path):
    folder = damage.sound_folder(tmp_path, "word pieces")
    damage.rewrite(folder / "tokenizer.json", lambda content: content | {"post_processor": {
        "type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[X]", "type_id": 0}},
                 {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {}}})
    pair = desk.ask(sources.open_query(str(folder), TEXT, text_b="a cat"))
    with pytest.raises(UserError, match=r"^The model's tokenizer cannot read that text \(no entry found for key\)"):
        pair.result(60)
    assert desk.ask(sources.open_query(str(folder), TEXT)).result(60).verification.status == "verified"
