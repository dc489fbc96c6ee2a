"""Next tokens, likelihoods and pronoun decisions compared with torch, transformers and records."""
import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.heads import weights
from clearhead.model.core.query import Kind, Query, Silence
from clearhead.model.lessons.pronoun_choice import DecisionQuery
from clearhead.model.scratch.source import locate
from clearhead.model.scratch.tokens import BEGIN, END
from clearhead.model.studies import predictions
from tests.headline import TIRED, WIDE
from tests.model.only import ask

LOGITS = np.random.default_rng(0).normal(scale=3, size=113).astype(np.float32)


@pytest.mark.parametrize(("temperature", "top_k", "top_p"),
                         [(1.0, 0, 1.0), (0.3, 0, 1.0), (2.5, 7, 1.0), (1.0, 0, 0.8), (0.7, 11, 0.6), (10.0, 1, 0.1)])
def test_distribution_equals_transformers(temperature, top_k, top_p):
    steps = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        steps.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    expected = torch.softmax(steps(torch.zeros(1, 1, dtype=torch.long), torch.tensor(LOGITS)[None].double()),
                             -1)[0].numpy()
    assert np.allclose(predictions.distribution(LOGITS, temperature, top_k, top_p), expected, atol=1e-9)


def likelihood(model: str, text: str = TIRED, **more) -> predictions.SequenceLikelihood:
    return ask(predictions.LikelihoodQuery(sources.open_query(model, text, **more)))


def test_translator_likelihood_equals_torch_cross_entropy():
    found, model = likelihood("translator"), locate("translator").open()
    source = torch.tensor([[piece.id for piece in model.tokenizer.pieces(TIRED)]])
    with torch.no_grad():
        logits = model.network(source, torch.tensor([[BEGIN, *found.ids[:-1]]]))[0]
    assert found.ids[-1] == END and len(found.texts) == len(found.ids)
    losses = functional.cross_entropy(logits, torch.tensor(found.ids), reduction="none")
    np.testing.assert_allclose(found.log_probabilities, -losses.numpy(), atol=1e-5)
    assert found.products[-1] == pytest.approx(-losses.sum().item(), abs=1e-4)
    greedy = likelihood("translator")
    following = predictions.NextWordQuery(sources.open_query("translator", TIRED, continuation=greedy.ids[:3]))
    assert ask(following).ids[0] == greedy.ids[3]
    assert found.perplexity == pytest.approx(losses.mean().exp().item(), rel=1e-5)


def test_decoders_likelihood_ends_with_its_prediction():
    text = "k7Qx2bVk7Qx"
    found = likelihood("induction", text)
    assert "".join(found.texts) == text
    guess = ask(sources.open_query("induction", text[:-1])).prediction
    assert np.exp(found.log_probabilities[-1]) == pytest.approx(guess.probabilities[-1][guess.texts[-1].index("x")],
                                                                rel=1e-4)


@pytest.fixture(scope="module")
def answered():
    revision = sources.revision("translator")
    return lambda kind, *rest: desk.ask(kind("translator", revision, *rest), "test").result(120)


def test_rows_are_named_by_the_word_that_they_produce(answered):
    record = answered(Query, TIRED)
    shown = predictions.rows_by_produced_token(record, Kind.CROSS)
    assert shown.queries.texts[:-1] == record[Kind.CROSS].queries.texts[1:] and shown.queries.texts[-1] == "[EOS]"
    assert shown.queries.special[-1] and shown.queries.words[-1] == shown.queries.segments[-1] == -1
    given = ask(sources.open_query("translator", TIRED, target="L’animal n'a"))
    last = predictions.rows_by_produced_token(given, Kind.CROSS).queries
    before = given[Kind.CROSS].queries
    assert last.ids == (*before.ids[1:], given.prediction.ids[-1][0]) and not last.special[-1]
    assert last.words == (*before.words[1:], max(before.words) + 1) and last.spans[-1] == (before.spans[-1][1],) * 2
    assert [row[0] for row in record.prediction.texts] == list(shown.queries.texts)
    np.testing.assert_array_equal(weights(shown.layers[0], 1), weights(record[Kind.CROSS].layers[0], 1))
    assert shown.queries.texts[predictions.pronoun_of(shown.queries)] == "il"


def test_shares_equal_edited_records(answered):
    found = answered(DecisionQuery, TIRED, WIDE)
    assert found.said == "il" and found.share > 0.9 and found.twin < 0.1
    record = answered(Query, TIRED)
    row = predictions.pronoun_of(predictions.rows_by_produced_token(record, Kind.CROSS).queries)
    french = " ".join(record[Kind.CROSS].queries.texts[1:row + 1])
    for number in (0, 5, len(found.heads) - 1):
        edited = desk.ask(sources.open_query("translator", TIRED, target=french,
                                                edits=[Silence(*found.heads[number])]), "test").result(120)
        said = dict(zip(edited.prediction.texts[row], edited.prediction.probabilities[row]))
        assert found.zero[number] == pytest.approx(said["il"] / (said["il"] + said.get("elle", 0)), abs=0.01)


def test_exchanging_every_word_equals_reading_the_twin(answered):
    found = answered(DecisionQuery, TIRED, WIDE)
    assert len(found.patched) == len(found.source) and found.source[found.patched.argmin()] != "."
    none = answered(DecisionQuery, TIRED, TIRED)
    np.testing.assert_allclose(none.patched, none.share, atol=1e-6)
