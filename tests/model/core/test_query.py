"""The values that a query and its edits accept, and the names of heads and of kinds of attention."""
from dataclasses import replace
from typing import get_args

import pytest

from clearhead.model.core.query import (
    MOST_STREAMS,
    Edit,
    Hide,
    Kind,
    Patch,
    Query,
    Silence,
    Temper,
    UserError,
    Window,
    head_label,
    paper_head_label,
)

PLAIN = Query("m", "r", "a cat")
HEAD = (Kind.SELF, 1, 2)
GOOD = {Silence: [(*HEAD,), (*HEAD, "mean")], Temper: [(*HEAD, 1e-6), (*HEAD, 1e6)],
        Hide: [("source", 0), ("target", 3)], Window: [(1,), (10**9, 10**9)], Patch: [(*HEAD, PLAIN)]}
BAD = {Silence: [(*HEAD, "median")], Temper: [(*HEAD, 0.0), (*HEAD, -1.0), (*HEAD, 1e7), (*HEAD, float("nan"))],
       Hide: [("middle", 0), ("source", -1)], Window: [(0,), (-1,), (10**9 + 1,), (3, -1), (3, 10**9 + 1)],
       Patch: [(*HEAD, replace(PLAIN, edits=frozenset({Silence(*HEAD)})))]}


def test_edits_accept_the_ends_of_their_range():
    assert set(GOOD) == set(BAD) == set(get_args(Edit))
    for kind in get_args(Edit):
        for values in GOOD[kind]:
            assert hash(replace(PLAIN, edits=frozenset({kind(*values)}))) is not None
        for values in BAD[kind]:
            with pytest.raises(UserError):
                kind(*values)


def test_edits_that_contradict_each_other_are_refused():
    other = replace(PLAIN, text="a dog")
    for edits in ({Silence(*HEAD), Silence(*HEAD, "mean")}, {Silence(*HEAD), Patch(*HEAD, other)},
                  {Patch(*HEAD, PLAIN), Patch(*HEAD, other)}, {Window(3), Window(4)}, {Window(3), Window(3, 1)},
                  {Patch(*HEAD, replace(other, model="n"))}, {Patch(*HEAD, replace(other, revision="s"))}):
        with pytest.raises(UserError):
            replace(PLAIN, edits=frozenset(edits))
    both = {Silence(*HEAD), Temper(*HEAD, 2.0), Hide("source", 0), Window(3), Patch(Kind.SELF, 1, 3, other)}
    assert replace(PLAIN, edits=frozenset(both)).edits == both


@pytest.mark.parametrize("image", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n", "../" + "a" * 61])
def test_picture_is_named_by_a_sha256_and_nothing_else(image):
    assert replace(PLAIN, image="0123456789abcdef" * 4).image
    with pytest.raises(UserError):
        replace(PLAIN, image=image)


def test_stream_names_can_be_parsed():
    assert len(Kind.every()) == len(set(Kind.every())) == 3 * MOST_STREAMS
    for kind in Kind.every():
        assert Kind(str(kind)) == kind and kind.base in Kind
    assert Kind("cross 2").base is Kind.CROSS
    assert Kind("cross 2").label({Kind.CROSS: "Cross"}) == "Cross (stream 2)"
    for name in ("", "self 1", "self 02", "self 17", "self  2", "both", "self 2 2"):
        with pytest.raises(ValueError, match="is not a valid Kind"):
            Kind(name)


def test_head_is_counted_from_0_here_and_from_1_in_papers():
    assert head_label(3, 11) == "3·11" and paper_head_label(3, 11) == "4-12"
