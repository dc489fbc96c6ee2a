"""The page Heads that work together, compared with the model's own pass."""
import numpy as np
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.models import TraceQuery
from clearhead.model.core.query import Kind
from clearhead.model.lessons import two_heads
from tests.lesson_pages import shown


def test_numbers_follow_what_is_silenced():
    plain, broken = (shown("two_heads", guess="b", broken=case).numbers for case in ("none", "previous"))
    assert plain["break"]["weight"] > 0.9 and plain["break"]["none"] > 0.99
    assert plain["break"]["both"] < broken["break"]["previous"] < 0.5
    assert plain["questions"]["through"][0] > 1 > plain["questions"]["direct"][0]
    assert plain["board"]["why"].score == pytest.approx(plain["board"]["why"].total, abs=1e-4)


def test_score_of_a_character_with_itself_equals_the_pass():
    """Rotary positions cancel if a token looks at itself, so the weights alone give the score."""
    query = sources.open_query(two_heads.MODEL, "a b c d")
    record, trace = (desk.ask(each).result() for each in (query, TraceQuery(query)))
    attention, embedded = trace.attention(Kind.CAUSAL, 0), trace.start(Kind.CAUSAL).output.astype(float)
    scores = record[Kind.CAUSAL].layer(0).scores(slice(1, 2), slice(0, 5), slice(0, 5))[0]
    query_bias, key_bias = attention.query.bias[1].astype(float), attention.key.bias[1].astype(float)
    biases = [x @ attention.query.weight[1] @ key_bias + query_bias @ (x @ attention.key.weight[1] + key_bias)
              for x in embedded]
    expected = np.diag(two_heads.question(attention, 1, embedded, embedded)) + biases
    np.testing.assert_allclose(np.diag(scores) * np.sqrt(len(key_bias)), expected, atol=1e-3)
