import base64
import hashlib
import tracemalloc
import zlib
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.viz.app.link import LONGEST, START, address, from_params, left_out, pack, short_name, to_params
from clearhead.viz.app.state import TEXTS, State
from tests.hostile import examples


def raw_deflate(content):
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(content) + deflate.flush()


NUMBERS = st.integers(0, 999_999)
VIEWS = st.builds(View, kind=st.sampled_from(Kind.every()), layer=NUMBERS, head=NUMBERS, token=NUMBERS,
                  pair=st.none() | st.tuples(NUMBERS, NUMBERS),
                  lens=st.sampled_from(["matrix", "lines", "text"]), scale=st.sampled_from(["linear", "root", "log"]),
                  transpose=st.booleans(),
                  overlay=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=7).map(tuple),
                  keep=st.sampled_from([1.0, 0.5, 0.95, 0.1234]),
                  hide_special=st.booleans(), gated=st.booleans(), renormalise=st.booleans(), words=st.booleans(),
                  order=st.sampled_from(["layer", "pair", "entropy", "previous"]),
                  quadrant=st.sampled_from(["", "AA", "AB", "BA", "BB"]))
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
STATES = st.builds(State, model=st.sampled_from(["minilm", "a/b"]), text=ANY_TEXT, text_b=st.none() | ANY_TEXT,
                   target=st.none() | ANY_TEXT, view=VIEWS,
                   chat=st.booleans(), present=st.booleans(),
                   user_set=st.just(frozenset({"kind", "head", "pair", "token", "scale", "lens"})))


@given(STATES)
def test_link_restores_the_state(state):
    query = urlsplit(address("http://localhost:8501/heads?old=1", state)).query
    assert from_params(dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))) == state


def test_screen_belongs_to_a_presentation():
    assert from_params({"screen": "slope"}) == START and to_params(State(screen="slope")) == {}
    assert from_params({"present": "1", "screen": "../etc"}) == State(present=True)


def parameters(link):
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True, strict_parsing=True))


LONG = " ".join(f"{number * 7919 % 9973:x} saw the animal" for number in range(280))   # 1,120 words


@pytest.mark.parametrize("field", TEXTS)
@pytest.mark.parametrize("text", [LONG, "Ein müdes Tier überquert die Straße nicht. " * 60,
                                  "它没有过马路，因为它太累了。" * 60])
def test_several_hundred_words_are_in_the_link(field, text):
    state = State(**{field: text})
    link = address("https://example.org/heads", state)
    assert len(link) <= LONGEST and f"{field}_z" in parameters(link) and from_params(parameters(link)) == state
    assert left_out(state) == {}


def scattered(words):
    """Return text that is hardly compressible."""
    return " ".join(hashlib.sha256(str(number).encode()).hexdigest()[:12] for number in range(words))


@examples(25)
@given(st.tuples(*[st.none() | st.integers(1, 900).map(scattered) | ANY_TEXT] * 3), VIEWS)
def test_link_is_never_too_long_and_states_omissions(texts, view):
    text, text_b, target = texts
    state = State(text=text or "it", text_b=text_b, target=target, view=view,
                  user_set=frozenset({"kind", "head", "pair", "token"}))
    link = address("https://example.org/heads", state)
    opened = from_params(parameters(link))
    assert len(link) <= LONGEST
    for field in TEXTS:
        given, there = getattr(state, field), getattr(opened, field)
        assert there == given or (not there and opened.absent == opened.absent | {field: short_name(given)})
    assert left_out(state) == {name: getattr(state, field) for field, name in opened.absent.items()}
    assert from_params(to_params(opened, named=True)) == opened, "it goes on saying so"


def test_text_left_out_of_a_link_is_absent():
    opened = from_params(to_params(State(text=scattered(900))))
    assert opened.text == "" and list(opened.absent) == ["text"]
    assert opened.with_question(text="it").absent == {} and opened.with_question(text="").absent == {}


@pytest.mark.parametrize("damaged", ["", "x", pack(LONG)[:-3], pack(LONG)[1:], pack(LONG) + "AA", "A" * 6001, "ä", "=",
                                     base64.urlsafe_b64encode(raw_deflate(b"\xff")).decode().rstrip("="),
                                     base64.urlsafe_b64encode(raw_deflate(b"a" * 4_000_000)).decode().rstrip("=")])
def test_damaged_text_is_absent(damaged):
    opened = from_params({"text_z": damaged})
    assert opened.text == "" and opened.absent == {"text": ""}
    assert from_params(to_params(opened)) == opened


def test_reading_a_bomb_stops_at_the_byte_limit():
    bomb = base64.urlsafe_b64encode(raw_deflate(b"a" * 4_000_000)).decode().rstrip("=")
    assert len(bomb) < 6_000
    tracemalloc.start()
    from_params({field + "_z": bomb for field in TEXTS})
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


OLD = {   # as links stood in mails and handouts before texts were packed
    "model=scratch&text=The+lawyer+met+the+doctor+because+she+was+ill.&layer=1&head=2&pair=7%2C5":
        State(model="scratch", text="The lawyer met the doctor because she was ill.",
              view=View(layer=1, head=2, pair=(7, 5)), user_set=frozenset({"head", "pair"})),
    "text=a%0Ab+%C3%A4&text_b=second&target=third&kind=cross&lens=lines&words=1&keep=0.9&overlay=1.2%2C3.4&present=1":
        State(text="a\nb ä", text_b="second", target="third", present=True, user_set=frozenset({"kind", "lens"}),
              view=View(kind=Kind.CROSS, lens="lines", keep=0.9, overlay=((1, 2), (3, 4)), words=True)),
    "show=1": State(show=True),
    "present=1&screen=predict-guess.2": State(present=True, screen="predict-guess.2"),
    "layer=3&head=1": State(view=View(layer=3, head=1), user_set=frozenset({"head"})),
}


@pytest.mark.parametrize("query", list(OLD))
def test_old_links_open_and_short_texts_still_look_like_them(query):
    state = from_params(parameters(f"http://localhost:8501/heads?{query}"))
    assert state == OLD[query] and urlencode(to_params(state)) == query


def test_link_names_model_and_text():
    assert parameters(address("https://example.org/", START)) == {"model": START.model, "text": START.text}
    assert address("https://example.org/cost", START, named=False) == "https://example.org/cost"


def test_empty_pair_means_no_pair():
    assert "pair" in from_params({"pair": ""}).user_set and from_params({"pair": ""}).view.pair is None
