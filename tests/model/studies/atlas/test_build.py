"""Texts are divided into shards that depend only on the corpus; shards are measured, merged in order, and saved."""
from dataclasses import replace

import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Kind, UserError, quiet
from clearhead.model.studies.atlas import build
from clearhead.model.studies.atlas.build import SHARD, Corpus, CorpusText, ShardTask, ShardWorker
from tests import fabricate

TREE = ("# text = aa bb cc\n1\taa\t_\t_\t_\t_\t2\tobj\t_\t_\n2\tbb\t_\t_\t_\t_\t0\troot\t_\t_\n"
        "3\tcc\t_\t_\t_\t_\t2\tobj\t_\t_\n\n")


@pytest.fixture
def corpus(tmp_path):
    """The same three texts as every kind of file, and two trees."""
    (tmp_path / "a.txt").write_text("one\n\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("n,text\n1,one\n2,two\n3,three\n", encoding="utf-8")
    (tmp_path / "c.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": "three"}\n', encoding="utf-8")
    parquet.write_table(pa.table({"text": ["one", None, "two", " ", "three"]}), tmp_path / "d.parquet",
                        row_group_size=2)
    (tmp_path / "e.conllu").write_text(TREE + TREE.replace("aa", "dd"), encoding="utf-8")
    return Corpus(tuple(sorted(tmp_path.iterdir())))


def items(corpus, begin=0):
    return [item for shard in corpus.shards(begin) for item in shard]


def test_every_kind_of_file_is_read_in_turn(corpus):
    every = items(corpus)
    assert [item.text for item in every] == ["one", "two", "three"] * 4 + ["aa bb cc", "dd bb cc"]
    assert [item.number for item in every] == list(range(14))
    assert [item.line for item in every if item.source == "a.txt"] == [1, 3, 4]
    assert [item.line for item in every if item.source == "d.parquet"] == [1, 3, 5]
    trees = [item for item in every if item.sentence]
    assert [item.place for item in trees] == [0, 1] and trees[0].sentence.words[0].relation == "obj"
    assert items(Corpus(corpus.paths, limit=4)) == every[:4]


def test_parquet_file_without_text_is_refused(tmp_path):
    parquet.write_table(pa.table({"text": [None, " "]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="contains no text"):
        items(Corpus((tmp_path / "a.parquet",)))


def test_shards_do_not_depend_on_the_start(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(f"text {number}" for number in range(2 * SHARD + 3)), encoding="utf-8")
    corpus = Corpus((tmp_path / "a.txt",))
    whole = list(corpus.shards())
    assert [len(shard) for shard in whole] == [SHARD, SHARD, 3] and list(corpus.shards(SHARD)) == whole[1:]


def test_digest_of_a_corpus_is_its_contents(corpus, tmp_path):
    def digest(*paths):
        return build.made_of(ShardTask("fake", "0"), Corpus(paths))["corpus"]

    (tmp_path / "f.txt").write_bytes((tmp_path / "a.txt").read_bytes())
    assert digest(*corpus.paths) == digest(tmp_path / "f.txt", *corpus.paths[1:]) != digest(*corpus.paths[::-1])


class Model:
    """Answers with fabricated records."""

    def __init__(self):
        self.threads = []

    def record(self, query, report):
        self.threads.append(torch.get_num_threads())
        if query.text == "too long":
            raise UserError("It is too long; shorten it.")
        if query.text == "cross":
            return replace(fabricate.record(["a", "b"], Kind.CROSS, ["c", "d", "e"]), omitted="more")
        return fabricate.record(query.text.split(), Kind.CAUSAL, special=[], text=query.text)


def test_shard_becomes_a_summary_with_one_thread():
    model, told, before = Model(), [], torch.get_num_threads()
    shard = (CorpusText(0, "a.txt", 1, "one two"), CorpusText(1, "a.txt", 3, "two of them"))
    found = ShardWorker(ShardTask("fake", "0"), model)(shard, lambda fraction, text: told.append((fraction, text)))
    assert (model.threads, torch.get_num_threads()) == ([1, 1], before)
    assert found.kind is Kind.CAUSAL and found.averages.texts == 2 and found.statuses == {"verified"}
    assert [(each.tokens, each.keys) for each in found.texts] == [(("one", "two"), ()), (("two", "of", "them"), ())]
    assert found.averages.cut == 0
    assert told == [(0, "a.txt, line 1"), (0.5, "a.txt, line 3")]


def test_cross_attention_keeps_the_texts_of_both_sides():
    found = ShardWorker(ShardTask("fake", "0"), Model())((CorpusText(0, "a.txt", 1, "cross"),), quiet)
    assert [(each.tokens, each.keys) for each in found.texts] == [(("a", "b"), ("c", "d", "e"))]
    assert found.averages.cut == 1


def test_worker_refuses_with_file_and_line():
    with pytest.raises(UserError, match=r"a\.txt, line 9: It is too long"):
        ShardWorker(ShardTask("fake", "0"), Model())((CorpusText(0, "a.txt", 9, "too long"),))
    with pytest.raises(UserError, match="no cross attention"):
        ShardWorker(ShardTask("fake", "0", Kind.CROSS), Model())((CorpusText(0, "a.txt", 9, "one two"),))
    ShardTask("fake", "0").check("0")
    for other in (ShardTask("fake", "1"), ShardTask("fake", "0", versions=build.versions() | {"torch": "0.1"})):
        with pytest.raises(UserError, match="install the same on all machines"):
            other.check("0")


def test_texts_have_the_averages_of_the_atlas():
    texts = tuple(CorpusText(at, "shipped", at + 1, line) for at, line in enumerate(
        build.SHIPPED.read_text(encoding="utf-8").splitlines()[:8]))
    model = "resolver-narrow", sources.revision("resolver-narrow")
    found = desk.ask(build.TextsQuery(*model, None, texts)).result(60)
    atlas = desk.ask(build.AtlasQuery(*model, limit=8)).result(60)
    assert found.texts == 8 and "fit_even" in found.names and "confidence" not in found.names
    assert list(found.by_head("entropy").values()) == atlas.wide()["entropy"].tolist()
