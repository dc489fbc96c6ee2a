"""Files of texts: unreadable content gives one sentence with file and line."""
import csv
import io
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core.limits import LIMITS
from clearhead.model.core.query import UserError
from clearhead.model.studies.corpus import SUFFIXES, texts
from tests.hostile import SEEDS, damaged_by, examples


def read(name: str, content: bytes, **more) -> list[tuple[int, str]]:
    return list(texts(io.BytesIO(content), name, **more))


def test_texts_and_lines_of_every_kind_of_file():
    assert read("a.txt", "\ufeffone\r\n\n  \n zwei ä\nlast".encode()) == [(1, "one"), (4, " zwei ä"), (5, "last")]
    assert read("A.CSV",
                b'id,text\r\n1,"a, b"\r\n2,\r\n3,"two\nlines"\r\n4,=1+1\r\n') == [
                    (2, "a, b"), (5, "two\nlines"), (6, "=1+1")]
    assert read("a.jsonl", b'{"text": "one", "n": 1}\n\n"plain"\n{"text": ""}\n') == [(1, "one"), (3, "plain")]
    assert read("a.csv", b"review\nfine\n", field="review") == [(2, "fine")]
    assert read("a.csv", b"n,review\n1,fine\n ,good\n2.5,\n") == [(2, "fine"), (3, "good")]   # the only column of texts


@pytest.mark.parametrize(("name", "content", "said"), [
    ("a", b"x", "end its name in"), ("a.txt", b"", "contains no text"),
    ("a.txt", b"\n \n\t\n", "contains no text"),
    ("a.txt", "über".encode("latin-1"), "line 1: this is not text in UTF-8"),
    ("a.csv", b"\x1f\x8b\x08", "not text in UTF-8"),
    ("a.txt", b"ok\nb\0c\n", "line 2: this is not text"),
    ("a.txt", b"ok\n" + b"x" * (LIMITS.corpus_line + 9), "line 2: the line has 1,000,001 bytes and the limit is"),
    ("a.txt", b"y" * (LIMITS.corpus_text + 1), "line 1: the text has 20,001 characters and the limit is 20,000"),
    ("a.csv", b"a,b\n1,2\n", "there is no column 'text' in a, b"),
    ("a.csv", b'text\n"never closed', "line 2: this is not CSV"), ("a.csv", b'text\n"a"b\n', "line 2: this is not CSV"),
    ("a.jsonl", b"[" * 100_000, "line 1: this is not JSON"),
    ("a.jsonl", b'{"text": "ok"}\n{"text": 1}\n', "line 2: there is no text under 'text'"),
    ("a.jsonl", b"[]", "line 1: there is no text")])
def test_unreadable_file_is_named_with_its_line(name, content, said):
    with pytest.raises(UserError, match=said) as refused:
        read(name, content)
    assert str(refused.value).startswith(name) and str(refused.value).count("\n") == 0
    assert str(refused.value).endswith(".")


@examples(200)
@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass"))
       | SEEDS.map(lambda seed: damaged_by(Random(seed), b'n,text\n1,"a ""b"""\n2,c\n'))
       | SEEDS.map(lambda seed: damaged_by(Random(seed), b'{"text": "a"}\n{"text": "b", "n": [1]}\n')))
def test_any_bytes_give_texts_or_one_sentence(content):
    for suffix in SUFFIXES:
        try:
            found = read(f"any{suffix}", content)
        except UserError as error:
            assert str(error).startswith(f"any{suffix}") and len(str(error)) < 1000
        else:
            assert found and all(text.strip() and line >= 1 for line, text in found)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40), min_size=1,
                max_size=9))
def test_texts_come_through_csv_and_jsonl_unchanged(written):
    table = io.StringIO(newline="")
    csv.writer(table).writerows([["n", "text"], *([place, text] for place, text in enumerate(written))])
    lines = "".join(json.dumps({"text": text}) + "\n" for text in written)
    wanted = [text for text in written if text.strip()]
    for name, content in (("a.csv", table.getvalue()), ("a.jsonl", lines)):
        if wanted:
            assert [text for _, text in read(name, content.encode())] == wanted
