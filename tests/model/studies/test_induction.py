"""Previous-token and prefix-matching scores on maps whose heads behave exactly so."""
import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.attention import Causal
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.core.record import AttentionMap, Reported
from clearhead.model.core.tokens import Tokens
from clearhead.model.studies import induction
from tests.model import tiny

LENGTH, BEFORE = 7, 2
N = BEFORE + 2 * LENGTH


def side() -> Tokens:
    return Tokens(("a",) * N, (1,) * N, (False,) * N, tuple((i, i + 1) for i in range(N)), tuple(range(N)), (0,) * N,
                  (False,) * N)


def looking(target) -> np.ndarray:
    """Each row puts all its weight on `target(row)`, at most itself."""
    weights = np.zeros((N, N), np.float32)
    weights[np.arange(N), [min(i, max(0, target(i))) for i in range(N)]] = 1
    return weights


def scores_of(*members: np.ndarray) -> induction.InductionScores:
    return induction.scores(AttentionMap(Kind.CAUSAL, side(), side(), (Reported(3, np.stack(members), Causal()),)),
                            LENGTH)


def test_vocabulary_shorter_than_the_repeat_is_refused(tmp_path):
    model = str(tiny.save(tmp_path / "gpt2", "gpt2"))
    question = induction.InductionMeanQuery(model, sources.revision(model))
    with pytest.raises(UserError, match=r"has 24 different tokens, of which 25 are needed"):
        question.answer(desk.models, quiet)


def test_previous_token_and_induction_heads():
    found = scores_of(looking(lambda i: i - 1), looking(lambda i: i - LENGTH + 1), looking(lambda i: i - LENGTH),
                      looking(lambda i: 0))
    np.testing.assert_allclose(found.previous, [1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found.prefix, [0, 1, 0, 0], atol=1e-6)
    assert found.heads == ((3, 0), (3, 1), (3, 2), (3, 3))


def test_uniform_rows_have_the_stated_score():
    uniform = np.tril(np.ones((N, N), np.float32)) / np.arange(1, N + 1, dtype=np.float32)[:, None]
    found = scores_of(uniform)
    assert found.prefix[0] == pytest.approx(found.uniform)
