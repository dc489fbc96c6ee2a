"""Where il or elle is decided: equal to what records say under the same edits, and honest where there is no such
decision."""
import numpy as np
import pytest

from model.ask import sources
from model.core.heads import weights
from model.core.query import Kind, Query, Silence
from model.lessons.pronoun_choice import DecisionQuery, DecisionSetQuery
from model.studies.predictions import pronoun_of, rows_by_produced_token

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = TIRED.replace("tired", "wide")


@pytest.fixture(scope="module")
def ask():
    revision = sources.revision("translator")
    return lambda kind, *rest: sources.ask(kind("translator", revision, *rest), "test").result(120)


def test_rows_are_named_by_the_word_that_they_produce(ask):
    record = ask(Query, TIRED)
    shown = rows_by_produced_token(record, Kind.CROSS)
    assert shown.queries.texts[:-1] == record[Kind.CROSS].queries.texts[1:] and shown.queries.texts[-1] == "[EOS]"
    assert shown.queries.special[-1]
    assert [row[0] for row in record.prediction.texts] == list(shown.queries.texts)
    np.testing.assert_array_equal(weights(shown.layers[0], 1), weights(record[Kind.CROSS].layers[0], 1))
    assert shown.queries.texts[pronoun_of(shown.queries)] == "il"


def test_shares_equal_those_of_a_record_under_the_same_edits(ask):
    found = ask(DecisionQuery, TIRED, WIDE)
    assert found.said == "il" and found.share > 0.9 and found.twin < 0.1
    record = ask(Query, TIRED)
    row = pronoun_of(rows_by_produced_token(record, Kind.CROSS).queries)
    french = " ".join(record[Kind.CROSS].queries.texts[1:row + 1])
    for number in (0, 5, len(found.heads) - 1):
        edited = sources.ask(sources.open_query("translator", TIRED, target=french,
                                                edits=[Silence(*found.heads[number])]), "test").result(120)
        said = dict(zip(edited.prediction.texts[row], edited.prediction.probabilities[row]))
        assert found.zero[number] == pytest.approx(said["il"] / (said["il"] + said.get("elle", 0)), abs=0.01)


def test_exchanging_every_word_is_reading_the_twin(ask):
    found = ask(DecisionQuery, TIRED, WIDE)
    assert len(found.patched) == len(found.source) and found.source[found.patched.argmin()] != "."
    none = ask(DecisionQuery, TIRED, TIRED)
    np.testing.assert_allclose(none.patched, none.share, atol=1e-6)


def test_over_a_set_everything_moves_every_pronoun_and_shares_are_shares(ask):
    found = ask(DecisionSetQuery, 20)
    assert found.sentences == 40 and found.moved["everything"] > 0.9
    assert all(0 <= share <= 1 for share in found.moved.values()) and set(found.points) == {Kind.SELF, Kind.CROSS}
