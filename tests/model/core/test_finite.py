"""NaN and infinity are reported wherever they occur, and nothing with them is called verified."""
import numpy as np
import pytest
import torch

from clearhead.model.core.query import Kind, NotFinite, Query, UserError, check_finite, largest, quiet
from clearhead.model.pretrained import load
from clearhead.model.studies.attribution import LONGEST
from clearhead.model.studies.patching import PatchQuery
from clearhead.model.studies.predictions import LikelihoodQuery, NextWordQuery, log_probability
from clearhead.model.studies.token_removal import explained_answer
from tests.model import tiny
from tests.model.only import Only

TEXT, OTHER = "the animal didn ' t cross the street", "a cat sat on mat of two the"
BAD = (float("nan"), float("inf"), float("-inf"))


@pytest.mark.parametrize("bad", BAD)
def test_every_number_is_looked_at(bad):
    numbers = np.zeros((3, 4, 5), np.float32)
    check_finite("here", numbers)
    numbers[2, 1, 3] = bad
    with pytest.raises(NotFinite, match=r"^The model computes NaN or infinity here, .*; choose another text or model"):
        check_finite("here", numbers)
    assert largest([0.5, bad, 0.1]) == float("inf") and largest([0.5, 0.1]) == 0.5 and largest([]) == 0


def asked(model, text=TEXT):
    return Query(model.card.id, model.card.revision, text)


def all_questions(model):
    """Return questions of every kind for a decoder."""
    kind = Kind.CAUSAL
    yield lambda: model.record(asked(model), quiet)
    yield lambda: model.trace(asked(model), quiet)
    yield lambda: log_probability(model, asked(model), (11, 15))
    yield lambda: NextWordQuery(asked(model)).answer(Only(model), quiet)
    yield lambda: LikelihoodQuery(asked(model)).answer(Only(model), quiet)
    yield lambda: explained_answer(model, asked(model), None, ("", "", ""), LONGEST)
    yield lambda: PatchQuery(asked(model), asked(model, OTHER), kind).answer(Only(model), quiet)


@pytest.mark.parametrize("part", ["attn.c_attn.weight", "mlp.c_proj.bias", "ln_f.weight"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_nan_after_opening_is_refused_by_every_question(tmp_path, part, number):
    model = load.locate(str(tiny.save(tmp_path / "mine", "gpt2"))).open(quiet)
    parameter = [parameter for name, parameter in model.network.named_parameters() if part in name][-1]
    with torch.no_grad():
        parameter.view(-1)[-1] = number
    for question in all_questions(model):
        with pytest.raises(UserError, match=r"NaN or infinity"):
            question()
