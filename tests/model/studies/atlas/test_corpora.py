"""Texts of every kind of file, cut into shards that depend on the corpus alone."""
import pyarrow as pa
import pytest
from pyarrow import parquet

from model.core.limits import LIMITS
from model.core.query import UserError
from model.studies.atlas.corpora import SHARD, Corpus, digest

TREE = ("# text = It rains.\n1\tIt\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\trains\t_\t_\t_\t_\t0\troot\t_\t_\n"
        "3\t.\t_\t_\t_\t_\t2\tpunct\t_\t_\n\n")


@pytest.fixture
def corpus(tmp_path):
    """The same three texts as every kind of file, and two trees."""
    (tmp_path / "a.txt").write_text("one\n\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("n,text\n1,one\n2,two\n3,three\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": "three"}\n', encoding="utf-8")
    parquet.write_table(pa.table({"text": ["one", None, "two", " ", "three"]}), tmp_path / "d.parquet",
                        row_group_size=2)
    (tmp_path / "e.conllu").write_text(TREE + TREE.replace("It", "So"), encoding="utf-8")
    return Corpus(tuple(sorted(tmp_path.iterdir())))


def test_every_kind_of_file_is_read_in_turn(corpus):
    items = list(corpus.items())
    assert [item.text for item in items] == ["one", "two", "three"] * 4 + ["It rains.", "So rains."]
    assert [item.number for item in items] == list(range(14))
    assert [item.line for item in items if item.source == "a.txt"] == [1, 3, 4]
    assert [item.line for item in items if item.source == "d.parquet"] == [1, 3, 5]
    trees = [item for item in items if item.sentence]
    assert [item.place for item in trees] == [0, 1] and trees[0].sentence.words[0].relation == "nsubj"
    assert list(corpus.items(5)) == items[5:]
    assert list(Corpus(corpus.paths, limit=4).items()) == items[:4] and not list(Corpus(corpus.paths, limit=4).items(4))


def test_shards_are_cut_at_the_same_places_wherever_one_begins(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(f"text {number}" for number in range(2 * SHARD + 3)), encoding="utf-8")
    corpus = Corpus((tmp_path / "a.txt",))
    whole = list(corpus.shards())
    assert [len(shard) for shard in whole] == [SHARD, SHARD, 3] and list(corpus.shards(SHARD)) == whole[1:]


def test_a_corpus_is_its_files_kinds_contents_and_order_and_not_their_names(corpus, tmp_path):
    files = corpus.files()
    (tmp_path / "f.txt").write_bytes((tmp_path / "a.txt").read_bytes())
    renamed = Corpus((tmp_path / "f.txt", *corpus.paths[1:])).files()
    assert digest(files) == digest(renamed) != digest(files[::-1])


def test_what_cannot_be_read_is_a_sentence(tmp_path, monkeypatch):
    def refused(content, name="x.parquet", field="text"):
        place = tmp_path / name
        if isinstance(content, dict):
            parquet.write_table(pa.table(content), place)
        else:
            place.write_bytes(content)
        with pytest.raises(UserError) as error:
            list(Corpus((place,), field).items())
        return str(error.value)

    assert "end its name in .txt, .csv, .jsonl, .parquet, .conllu" in refused(b"a", "x.docx")
    assert "cannot be read as Parquet" in refused(b"PAR1 and nothing else")
    assert "there is no column 'text' among words" in refused({"words": ["a"]})
    assert "holds int64 and no texts" in refused({"text": [1]})
    assert "has no text in it" in refused({"text": ["", None]})
    assert "has no text in it" in refused(b"\n\n", "x.txt")
    assert "no sentence" in refused(b"\n", "x.conllu")
    assert "row 2: the text has 20,001 characters" in refused({"text": ["a", "b" * (LIMITS.corpus_text + 1)]})
    whole = tmp_path / "y.parquet"
    parquet.write_table(pa.table({"text": ["a" * 9000] * 200}), whole, use_dictionary=False)
    content = bytearray(whole.read_bytes())
    content[100:160] = bytes(60)
    assert "cannot be read as Parquet" in refused(bytes(content), "y.parquet")
    monkeypatch.setattr("model.studies.atlas.corpora.LIMITS", type(LIMITS)(corpus_group_bytes=10))
    assert "write smaller row groups" in refused({"text": ["a" * 50]})
    monkeypatch.setattr("model.studies.atlas.corpora.LIMITS", type(LIMITS)(corpus_group_bytes=2000))
    long, short = ["a" * 1500 + str(number) for number in range(9)], [{"a": 1, "b": 2}] * 9
    assert "write smaller row groups" in refused({"id": short, "text": long})   # the second column, and the third leaf


def test_what_repeats_itself_is_held_once_and_a_long_text_never(tmp_path):
    def repeated(size, rows):
        column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["é" * size]))
        parquet.write_table(pa.table({"text": column}), tmp_path / "a.parquet", compression="zstd", store_schema=False,
                            dictionary_pagesize_limit=2**30)
        return Corpus((tmp_path / "a.parquet",))

    items = list(repeated(LIMITS.corpus_text, 3_000).items())
    assert len(items) == 3_000 and items[0].text == "é" * LIMITS.corpus_text
    assert all(items[at].text is items[0].text for at in range(256))
    with pytest.raises(UserError, match=r"row 1: the text has 100,000 characters and the limit is 20,000"):
        list(repeated(100_000, 3_000).items())   # 0.6 GB, were they made
    with pytest.raises(UserError, match="times its length and the limit is 100"):
        list(repeated(3_000_000, 3_000).items())


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="no file that can be read twice"):
        Corpus((tmp_path / "there-is-none.txt",))
