"""Shards are folded in order and saved when the work ends too early; an atlas says what it is made of."""
import pytest

from model.core.query import UserError
from model.studies.atlas.build import atlas_of, folded, made_of
from model.studies.atlas.corpora import Corpus
from model.studies.atlas.worker import Task, versions
from tests.model.studies.atlas.made import SAID, summary


def parts():
    return [summary(range(begin, begin + 4)) for begin in (0, 4, 8)]


def test_what_is_folded_is_the_whole_and_goes_on_after_what_is_there():
    whole, said = summary(range(12)), []
    found = folded(parts(), None, lambda total: pytest.fail("nothing was stopped"), said.append)
    later = folded(parts()[1:], parts()[0], lambda total: None, lambda total: None)
    for each in (found, later):
        assert each.averages.texts == 12 and (each.averages.mean == whole.averages.mean).all()
    assert [total.averages.texts for total in said] == [4, 8, 12]
    assert folded([], None, lambda total: None, lambda total: None) is None


@pytest.mark.parametrize("end", [KeyboardInterrupt, UserError("a text is refused.")])
def test_what_is_done_is_saved_when_the_work_ends_too_early(end):
    def summaries():
        yield parts()[0]
        yield parts()[1]
        raise end

    saved = []
    with pytest.raises(end if isinstance(end, type) else type(end)):
        folded(summaries(), None, saved.append, lambda total: None)
    assert [total.averages.texts for total in saved] == [8]


def test_an_atlas_says_model_corpus_and_versions(tmp_path):
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    said = made_of(Task("scratch", "1"), Corpus((tmp_path / "a.txt",)), None)
    assert said["versions"] == versions() and set(said["versions"]) >= {"torch", "python", "transformers"}
    assert [file["name"] for file in said["files"]] == ["a.txt"] and len(said["corpus"]) == 64
    about = atlas_of(summary(range(4)), SAID).about
    assert (about["texts"], about["cut"], about["kind"], about["verification"]) == (4, 2, "self", "verified")
    assert "asked_kind" not in about and about["title"] == "Fabricated"
