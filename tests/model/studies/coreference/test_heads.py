"""The weights of a case against sums by hand, on records made of random numbers."""
import numpy as np
import pytest

from model.ask import sources
from model.core import heads
from model.core.query import Kind
from model.studies.coreference import (
    Case,
    CasesQuery,
    Words,
    make_case,
    noun_weights,
    run,
)
from tests import headline
from tests.fabricate import record
from tests.model.only import CardQuery


def by_hand(attention_map, place: Words):
    """Every head with its whole matrix, token by token."""
    kept = {"pronoun": [], "later": [], "received": []}
    for layer in attention_map.layers:
        for head in range(layer.heads):
            matrix = heads.weights(layer, head).astype(np.float64)
            behind = range(max(place.pronoun) + 1, place.last + 1)
            for name, rows in (("pronoun", place.pronoun), ("later", behind)):
                kept[name].append([np.mean([sum(matrix[row, key] for key in noun) for row in rows])
                                   for noun in (place.correct, place.wrong)])
            others = [[row for row in range(len(matrix)) if row not in (*place.pronoun, *noun) and
                       (attention_map.kind is Kind.SELF or row > max(noun))] for noun in (place.correct, place.wrong)]
            kept["received"].append([np.mean([sum(matrix[row, key] for key in noun) for row in rows])
                                     for noun, rows in zip((place.correct, place.wrong), others)])
    return {name: np.array(values) for name, values in kept.items()}


@pytest.mark.parametrize("kind", [Kind.SELF, Kind.CAUSAL])
@pytest.mark.parametrize("place", [Words((7,), (1,), (4,), 10), Words((7, 8), (2, 3), (5,), 10)])
def test_pieces_are_summed_where_looked_at_and_averaged_where_looking(kind, place):
    attention_map = record(11, kind)[kind]
    found, wanted = noun_weights(attention_map, place), by_hand(attention_map, place)
    assert found.heads == tuple((kind, layer, head) for layer in range(2) for head in range(6))
    for name, numbers in wanted.items():
        np.testing.assert_allclose(getattr(found, name), numbers, atol=1e-6, err_msg=name)


def test_a_set_is_its_sentences_one_after_the_other_and_can_be_stopped():
    asked, text = [], "0123456789012345678901"
    cases = (Case(text, (15, 17), (3, 5), (6, 8), pair="a"), Case(text, (15, 17), (6, 8), (3, 5), pair="a"))

    class Model:
        def record(self, query, report):
            asked.append(query.text)
            return record(7)

    ticks = []
    answer = run(CasesQuery("fake", "0", cases), Model(), lambda fraction, text: ticks.append(fraction))
    assert answer.pronoun.shape == (2, 12, 2) and asked == [case.sentence for case in cases] and ticks == [0, 0.5]
    np.testing.assert_array_equal(answer.pronoun[0], answer.pronoun[1][:, ::-1])

    def stop(fraction, text):
        raise InterruptedError
    with pytest.raises(InterruptedError):
        run(CasesQuery("fake", "0", cases), Model(), stop)


def test_minilm_shows_the_famous_head_and_the_untrained_twin_does_not():
    case = make_case(headline.TIRED, "it", "animal", "street")
    ids = ("minilm", sources.untrained("minilm"))
    trained, untrained = (sources.ask(CasesQuery(each, sources.revision(each), (case,))).result() for each in ids)
    head = trained.heads.index((Kind.SELF, 3, 1))
    np.testing.assert_allclose(trained.pronoun[0, head], [float(headline.ANIMAL), 0.050], atol=2e-3)
    assert untrained.heads == trained.heads and np.abs(untrained.pronoun - 1 / 17).max() < 0.03
    card = sources.ask(CardQuery(ids[1], sources.revision(ids[1]))).result()
    assert "untrained" in card.title and sources.revision(ids[0]) != sources.revision(ids[1])
