"""Every export format is read by an independent parser and contains the question and the view unchanged."""
import dataclasses
import json
import threading
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import pictures
from clearhead.model.core.query import Hide, Kind, Patch, Query, Silence, Temper, UserError, Window
from clearhead.model.core.view import View
from clearhead.viz.export.formats import FORMATS, Options, export
from tests.fabricate import HOSTILE, pictured, record
from tests.hostile import CELLS, RUNS, TEXTS, examples
from tests.uploads import png
from tests.viz.export.readers import provenance_of, tokens_of

SUFFIXES = sorted(FORMATS)
TOLD = sorted({*FORMATS} - {".csv"})   # with their provenance
DRAWN = [suffix for suffix in SUFFIXES if "matrix" in FORMATS[suffix].subjects]
WORDS = ("the", "animal", "it", "the")


@pytest.mark.parametrize("suffix", TOLD)
@pytest.mark.parametrize("grid", [False, True])
def test_file_carries_its_question_and_its_view(suffix, grid):
    if grid and suffix not in DRAWN:
        with pytest.raises(UserError, match="cannot show the grid"):
            export(suffix, record(WORDS), View(), Options(grid=True))
        return
    made = record(WORDS)
    other = Query("fake/model", "f" * 40, "the \u201cother\u201d", None, "ziel", (3,))
    edits = frozenset({Silence(Kind.SELF, 1, 2), Temper(Kind.SELF, 0, 1, 0.3), Hide("source", 3),
                       Patch(Kind.SELF, 0, 2, other), Window(16, 4)})
    made = dataclasses.replace(made,
                               query=Query("fake/model", "f" * 40, "the animal", "b \ud800\0", "ziel", (1, 2), edits,
                                           chat=True))
    view = View(layer=1, head=2, token=1, pair=(1, 2), scale="root", transpose=True, overlay=((0, 1),), keep=0.9,
                hide_special=True, words=True)
    found = provenance_of(suffix, export(suffix, made, view, Options(grid=grid, link="http://x.org/?a=1&b=<2>")))
    assert [found[name] for name in ("text", "text_b", "target", "continuation", "chat")] == [
        "the animal", "b \ud800\0", "ziel", [1, 2], True]
    assert Counter(edit["edit"] for edit in found["edits"]) == Counter(["silence", "temper", "hide", "patch", "window"])
    patch, = (edit for edit in found["edits"] if edit["edit"] == "patch")
    assert (patch["layer"], patch["head"], patch["from_query"]["text"]) == (0, 2, other.text)
    assert found["view"] == json.loads(json.dumps(dataclasses.asdict(view)))
    assert found["link"] == "http://x.org/?a=1&b=<2>" and found["verification"]["status"] == "verified"
    assert found["versions"]["numpy"]
    assert (found["model"], found["kind"], found["layer"], found["head"]) == ("fake/model", "self", 1, 2)


@pytest.mark.parametrize("suffix", TOLD)
def test_hostile_tokens_pass_through_every_export(suffix):
    made = record(HOSTILE)
    view = View(token=15, pair=(15, 16), lens="text", scale="log")
    assert provenance_of(suffix, export(suffix, made, view))["text"] == "".join(HOSTILE)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_same_question_gives_the_same_bytes_in_any_thread(suffix):
    made = record(WORDS)
    views = [View(layer=layer, head=2, lens=lens, token=1) for layer in (0, 1) for lens in ("matrix", "lines")]
    alone = [export(suffix, made, view) for view in views]
    together: list[bytes] = [b""] * len(views)

    def draw(place: int) -> None:
        together[place] = export(suffix, made, views[place])

    threads = [threading.Thread(target=draw, args=(place,)) for place in range(len(views))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    if suffix in DRAWN:
        assert all(a != b for a, b in pairwise(alone))


@pytest.mark.parametrize("suffix", [".csv", ".html", ".npz", ".svg"])
def test_any_texts_are_exported(suffix):
    """Each text is a separate token, and together they are the query's text."""
    @examples(20)
    @given(st.lists(TEXTS, min_size=25, max_size=25), st.sampled_from(("matrix", "lines", "text")), st.booleans())
    def check(texts, lens, transpose):
        made = record(texts, layers=1)
        view = View(lens=lens, token=0, pair=(0, len(texts) - 1), transpose=transpose)
        content = export(suffix, made, view, Options(zoom=1))
        assert suffix not in TOLD or provenance_of(suffix, content)["text"] == made.query.text
        if (found := tokens_of(suffix, content)) is not None:
            assert found == [written(suffix, text) for text in texts]

    check()


def written(suffix: str, text: str) -> str:
    """Return the text as the format can contain it: characters that UTF-8 cannot encode as code points."""
    lost = [sign for sign in text if sign == "\0" or (suffix == ".csv" and "\ud800" <= sign <= "\udfff")]
    return "".join(f"U+{ord(sign):04X}" if sign in lost else sign for sign in text)


@pytest.mark.parametrize("name", [*CELLS, *RUNS, "a;=1+1", "a\t=1", "\0\ud800\x1b[31m\u202e", "=" * 5_000])
def test_name_of_a_picture_survives(name):
    made = pictured(image=pictures.keep(png(np.full((28, 28), len(name) % 256, np.uint8)), name).sha256)
    told = [provenance_of(suffix, export(suffix, made, View())) for suffix in (".json", ".npz")]
    assert [each["image"]["name"] for each in told] == [name, name]
