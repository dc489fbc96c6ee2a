"""A small page with three components over fabricated records, for the browser tests and for viewing.

?case= selects the record; ?lens= ?scale= ?transpose=1 ?overlay=1 set the view. The page shows the number of its runs
and all events.
"""
from dataclasses import replace

import streamlit as st

from clearhead.model.core.query import Kind
from clearhead.model.core.view import View
from clearhead.viz.components.from_record import head_of
from clearhead.viz.components.head_grid import head_grid
from clearhead.viz.components.head_view import head_view
from clearhead.viz.components.picture import Grid, HeadValues
from clearhead.viz.components.token_strip import token_strip
from tests.fabricate import overview_of, patterned, repeating, tokens

TRICKY = ["[CLS]", " ", "The", "##re", "שלום", "👩‍💻", "漢字", "[UNK]", "\n", "a\tb", "\x00", "<b>x</b>", "$y$",
          "\ud83d", "‮rtl", "café", "[SEP]"]
PAIR = ["[CLS]", "Where", "did", "the", "river", "flood", "?", "[SEP]", "The", "river", "flood", "##ed", "the", "town",
        ".", "[SEP]"]
PAIR_WORDS = [-1, 0, 1, 2, 3, 4, 5, -1, 0, 1, 2, 2, 3, 4, 5, -1]
PAIR_SEGMENTS = [-1] + [0] * 6 + [-1] + [1] * 7 + [-1]
CASES = {
    "small": lambda: patterned(tokens(), heads=(12,) * 6),
    "tricky": lambda: patterned(tokens(TRICKY, words=[-1, 0, 1, 1, *range(2, 14), -1]), heads=(3, 5)),
    "pair": lambda: patterned(tokens(PAIR, words=PAIR_WORDS, segments=PAIR_SEGMENTS), heads=(7,) * 3),
    "one": lambda: patterned(tokens(["Hi"]), heads=(1,)),
    "many": lambda: patterned(repeating(24), heads=(32,) * 32),
    "tower": lambda: patterned(repeating(70), heads=(9,) * 30, kind=Kind.CAUSAL),
    "long": lambda: patterned(repeating(256), heads=(12,) * 6),
    "longest": lambda: patterned(repeating(1100), heads=(2,)),
    "cross": lambda: patterned((tokens(["Le", "chat", "dort", "."]), tokens()), heads=(4, 4), kind=Kind.CROSS),
    "causal": lambda: patterned(repeating(13), heads=(4, 4), kind=Kind.CAUSAL),
}


@st.cache_resource
def record(case: str):
    return CASES[case]()


@st.cache_resource
def overview(case: str):
    return overview_of(record(case))


def remember(name: str):
    def keep(event) -> None:
        memory["events"].append(f"{name} {event}")
        if name == "grid":
            memory["open"] = event.head
        else:
            memory["token"], memory["pair"] = event.token, event.pair
    return keep


st.set_page_config(layout="wide")
asked = st.query_params
memory = st.session_state.setdefault("memory", {"runs": 0, "events": [], "open": (0, 0), "token": None, "pair": None})
memory["runs"] += 1
if st.toggle("leave"):
    st.session_state.pop("memory")   # a visitor who returns starts anew
    st.stop()
case = st.selectbox("case", list(CASES), index=list(CASES).index(asked.get("case", "small")))
made = record(case)
queries = made.maps[0].queries
token = memory["token"] if memory["token"] is not None and memory["token"] < len(queries) else None
pair = memory["pair"] if memory["pair"] and max(memory["pair"]) < len(queries) else None
layer, head = memory["open"] if made.maps[0].has(*memory["open"]) else (0, 0)
view = View(kind=made.kinds[0], layer=layer, head=head, token=token, pair=pair, lens=asked.get("lens", "matrix"),
            scale=asked.get("scale", "linear"), transpose="transpose" in asked)
token_strip(queries, focus=token, pair=pair if made.kinds[0] is not Kind.CROSS else None, key="strip",
            on_event=remember("strip"))
left, right = st.columns([5, 8], gap="medium")
places = [(each.index, number) for each in made.maps[0].layers for number in range(each.heads)]
with left:
    differences = HeadValues({place: (place[0] - place[1]) / 10 for place in places})
    grid = Grid(overview(case), (layer, head), [(*place, 0.0) for place in places[::-1]] if "order" in asked else (),
                [(*place, rank) for rank, place in enumerate(places[3::7][:8], 1)],
                differences if "values" in asked else None)
    head_grid(grid, tooltips={"previous": {place: sum(place) / 50 for place in places},
                              "entropy, bits": {place: 2.5 + place[1] / 10 for place in places}},
              key="grid", on_event=remember("grid"))
with right:
    further = [place for place in places if place != (layer, head)][:3] if "overlay" in asked else []
    head_view(head_of(made, replace(view, overlay=tuple(further))), key="view", on_event=remember("view"))
st.text(f"runs {memory['runs']}")
st.text("events " + " | ".join(memory["events"]))
