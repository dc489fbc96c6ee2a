"""What else a model of pictures can be asked, and what it cannot."""
import numpy as np
import pytest

from model.ask import sources
from model.ask.sources import models
from model.core.models import LastVectorsQuery, TraceQuery
from model.core.query import Kind, NoNextWord, Patch, UserError, Window, quiet
from model.studies.attribution import LONGEST
from model.studies.patching import PatchQuery
from model.studies.predictions import next_word, sequence_likelihood
from model.studies.token_removal import explained_answer
from tests.model import tiny_vision


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny_vision.save(tmp_path_factory.mktemp("models") / "vit", "vit"))


def asked(folder, key, edits=()):
    return sources.open_query(folder, "", image=tiny_vision.shipped(key), edits=edits)


def test_heads_are_patched_from_one_picture_into_another(folder):
    first, second = asked(folder, "cat"), asked(folder, "coffee")
    effects = PatchQuery(first, second, Kind.SELF).answer(models, quiet)
    assert len(effects.heads) == 12
    edited = asked(folder, "cat", [Patch(Kind.SELF, 2, 1, second)]).answer(models, quiet)
    plain = first.answer(models, quiet)
    assert edited.verification.status == "verified"
    assert np.abs(np.sort(edited.prediction.probabilities) - np.sort(plain.prediction.probabilities)).max() > 1e-5


def test_the_last_blocks_vectors_are_those_of_the_trace(folder):
    query = asked(folder, "rocket")
    vectors = LastVectorsQuery(query, Kind.SELF).answer(models, quiet).vectors
    np.testing.assert_allclose(vectors, TraceQuery(query).answer(models, quiet).blocks[-1].after, atol=1e-5)


def test_what_is_of_texts_alone_is_refused_in_a_sentence(folder):
    opened = models.open(asked(folder, "cat"), quiet)
    with pytest.raises(NoNextWord, match="choose a decoder"):
        next_word(opened, asked(folder, "cat"), quiet)
    with pytest.raises(UserError, match="does not predict the next token"):
        sequence_likelihood(opened, asked(folder, "cat"), quiet)
    with pytest.raises(UserError, match="removes words from a text; hide a patch"):
        explained_answer(opened, asked(folder, "cat"), None, ("", "", ""), LONGEST)
    with pytest.raises(UserError):
        asked(folder, "cat", [Window(4, 1)]).answer(models, quiet)
