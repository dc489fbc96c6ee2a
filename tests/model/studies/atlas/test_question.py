"""The small atlas over shipped sentences."""
from model.ask import sources
from model.studies.atlas.question import SHIPPED, AtlasQuery


def test_two_hundred_different_sentences_are_shipped():
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == len(lines) == 200 and all(line == line.strip() and line for line in lines)


def test_a_small_atlas_is_made_on_the_spot():
    atlas = sources.ask(AtlasQuery("scratch", sources.revision("scratch"), limit=40)).result(120)
    assert (atlas.about["texts"], atlas.about["model"], len(atlas.heads)) == (40, "scratch", 48)
    wide = atlas.wide()
    assert wide["entropy"].between(0, 10).all() and list(wide.columns) == list(atlas.measures)
    assert len(atlas.examples(0, 0, "distance")) == 4 + 20
