"""The reader of CoNLL-U."""
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.model.core import limits
from clearhead.model.core.query import UserError
from clearhead.model.studies.syntax import Multiword, Word, read_treebank, shipped_treebank, spans_of
from tests.hostile import examples

GOOD = """# newdoc
# sent_id = 1
#text=I don't .
1\tI\ti\tPRON\t_\t_\t2\tnsubj:pass\t2:nsubj|3:dep\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t0:root\t_
3\tn't\tnot\tPART\t_\t_\t2\tadvmod\t_\t_
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# a comment without words

# text = Go
# text_en = not the text
1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_
"""


def read(text):
    return read_treebank(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "x.conllu")


@pytest.mark.parametrize("text", [GOOD, GOOD.replace("\n", "\r\n"), "\ufeff" + GOOD, GOOD.rstrip("\n")])
def test_trees_are_read(text):
    first, second = read(text)
    assert first.text == "I don't ." and second.text == "Go" and (first.line, second.line) == (1, 13)
    assert first.words == (Word("I", 2, "nsubj", "PRON"), Word("do", 0, "root", "AUX"),
                           Word("n't", 2, "advmod", "PART"), Word(".", 2, "punct", "PUNCT"))
    assert first.multiwords == (Multiword(2, 3, "don't"),) and second.words == (Word("Go", 0, "root", "VERB"),)


def test_documents_are_counted_from_the_first_mark():
    tree = "# text = Go\n1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    found = read(f"{tree}# newdoc id = a\n{tree}{tree}# newdoc\n\n{tree}#newdoc\n{tree}")
    assert [sentence.document for sentence in found] == [None, 0, 0, 1, 2]
    assert all(sentence.document is None for sentence in shipped_treebank("en"))   # each is independent of the others


def change(old, new):
    assert old in GOOD
    return GOOD.replace(old, new, 1)


@pytest.mark.parametrize(("text", "line"), [
    (change("1\tI\ti", "1\tI"), 4), (change("1\tI", "2\tI"), 4), (change("1\tI", "one\tI"), 4),
    (change("1\tI", "1\t"), 4), (change("PRON\t_\t_\t2", "PRON\t_\t_\t_"), 4), (change("nsubj:pass", "_"), 4),
    (change("2-3\tdon't", "3-4\tdon't"), 5), (change("2-3\tdon't", "2-1\tdon't"), 5),
    (GOOD.encode().replace(b"Go\n", b"\xff\n", 1), 13), (GOOD.replace("Go", "G\0", 1), 13),
    # of the whole sentence: a head that is none, a circle, a token that is too long, no text, a token without words
    (change("PRON\t_\t_\t2", "PRON\t_\t_\t5"), 1), (change("PRON\t_\t_\t2", "PRON\t_\t_\t1"), 1),
    (change("AUX\t_\t_\t0", "AUX\t_\t_\t3"), 1), (change("2-3\tdon't", "2-9\tdon't"), 1),
    (change("#text=I don't .", "# text = "), 1), ("# text = x\n1-2\tx" + "\t_" * 8 + "\n", 1)])
def test_malformed_line_is_named(text, line):
    with pytest.raises(UserError, match=f"^x.conllu, line {line}: [^\n]*$"):
        read(text)


@pytest.mark.parametrize("limit", ["sentence_words", "treebank_words", "corpus_text", "corpus_line"])
def test_limits_hold_before_a_file_is_in_memory(monkeypatch, limit):
    for module in ("syntax", "corpus"):
        monkeypatch.setattr(f"clearhead.model.studies.{module}.LIMITS", limits.Limits(**{limit: 3}))
    with pytest.raises(UserError, match="and the limit is 3"):
        read(GOOD)


@examples(200)
@given(st.sampled_from(GOOD.split("\n")), st.integers(0, 200), st.sampled_from(["", "\t", "\n", "-", "0", "x", "#"]))
def test_damaged_treebank_is_read_or_refused(line, place, sign):
    damaged = line[:place % (len(line) + 1)] + sign + line[place % (len(line) + 1):]
    try:
        for sentence in read(GOOD.replace(line, damaged, 1)):
            assert all(0 <= word.head <= len(sentence.words) for word in sentence.words)
    except UserError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(("name", "language"), [("syntax", "en"), ("syntax", "zh"), ("grammar", "en")])
def test_shipped_trees_have_one_root_and_cover_their_text(name, language):
    shipped = shipped_treebank(language, name)
    assert len(shipped) >= 20 and len({sentence.text for sentence in shipped}) == len(shipped)
    for sentence in shipped:
        spans = spans_of(sentence)
        assert [word.head for word in sentence.words].count(0) == 1 and None not in spans
        assert (spans[0][0], spans[-1][1]) == (0, len(sentence.text))
    lengths = [len(sentence.words) for sentence in shipped]
    assert min(lengths.count(length) for length in lengths) > 1   # so that trees can be exchanged
