"""JSON of strangers against the limits."""
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.core import limits
from model.core.limits import Limits
from model.core.query import UserError
from tests.hostile import JSON


@given(JSON)
def test_what_is_within_the_limits_is_read_as_json_reads_it(value):
    content = json.dumps(value).encode()
    assert json.dumps(limits.parse_json(content, "x")) == json.dumps(json.loads(content))


@given(st.recursive(st.just((0, 0)), lambda inner: st.one_of(
    st.lists(inner, max_size=3).map(lambda parts: ([value for value, _ in parts],
                                                   1 + max((depth for _, depth in parts), default=0))),
    st.lists(inner, max_size=3).map(lambda parts: ({str(place): value for place, (value, _) in enumerate(parts)},
                                                   1 + max((depth for _, depth in parts), default=0)))), max_leaves=9))
def test_depth_counts_lists_and_objects_within_one_another(pair):
    value, depth = pair
    assert limits.depth_of(value) == depth


@pytest.mark.parametrize(("content", "said"), [
    (b"[" * 65 + b"]" * 65, "65 levels and the limit is 64"),
    (b'{"a":' * 10**5, "levels and the limit"), (b"[" + b"1," * 2_000 + b"1]", "2,001 values and the limit is 2,000"),
    (b" " * 5_000 + b"1", "5,001 bytes and the limit is 5,000")])
def test_what_is_above_a_limit_says_which(content, said, monkeypatch):
    monkeypatch.setattr(limits, "LIMITS", replace(Limits(), json_values=2_000, json_bytes=5_000)
                        if len(content) < 10**5 else Limits())
    with pytest.raises(UserError, match=f"^config.json has .*{said}"):
        limits.parse_json(content, "config.json")
