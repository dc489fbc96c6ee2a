"""The induction decoder's circuit is the one that its training is known to form."""
import pytest

from model.ask import sources
from model.core.query import UserError, quiet
from model.studies import known_circuits


def test_previous_token_head_composes_with_induction_heads_and_is_needed_by_them():
    asked = known_circuits.KnownCircuitsQuery("induction", sources.revision("induction"))
    composed, silenced = known_circuits.composition(asked, sources.models, quiet)
    assert composed.holds and composed.heads[0] == silenced.heads[0] and composed.heads[1][0] == 1
    assert composed.value > 1.5 * composed.chance
    assert silenced.value < 0.2 < 0.9 < silenced.chance


def test_exchanged_sequences_turn_the_answer():
    asked = known_circuits.KnownCircuitsQuery("induction", sources.revision("induction"))
    opened = sources.models.open(asked, quiet)
    for text, twin, answer, rival in known_circuits.exchanged(opened, asked, 3):
        assert sorted(text.continuation) == sorted(twin.continuation) and text.continuation[-1] == twin.continuation[-1]
        for query, sign in ((text, 1), (twin, -1)):
            logits = opened.run(opened.tokens(query), every=True).outputs()[0, -1]
            assert sign * float(logits[answer] - logits[rival]) > 0


def test_circuits_of_other_models_are_not_known():
    with pytest.raises(UserError, match="induction"):
        sources.ask(known_circuits.KnownCircuitsQuery("minilm", sources.revision("minilm"))).result()
