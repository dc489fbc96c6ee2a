"""Annotated text in the atlas: the counts of model.studies.syntax, sentence by sentence."""
from model.core.query import Kind
from model.studies.atlas import trees
from model.studies.syntax.report import OFFSETS, choices_of, counts_of, join
from model.studies.syntax.treebank import Sentence, Word
from tests import fabricate

# the fabricated tokens stand at the characters 3i and 3i + 1
TEXT = "aa bb cc dd ee"
HEADS = (2, 0, 2, 5, 2)
SENTENCE = Sentence(1, TEXT, tuple(Word(form, head, "obj" if head == 2 else "det") for form, head in
                                   zip(TEXT.split(), HEADS, strict=True)), ())


def record(seed, kind=Kind.SELF):
    return fabricate.record(TEXT.split(), kind, special=[], text=TEXT, seed=seed)


def test_counts_of_sentences_add_up_and_stand_in_the_tables():
    parts = [trees.counts_in(record(seed), Kind.SELF, SENTENCE, seed) for seed in range(3)]
    total = trees.together([None, *parts])
    whole = counts_of(join([choices_of(record(seed), SENTENCE, seed) for seed in range(3)]))
    assert (total.right == whole.right).all() and (total.near == whole.near).all()
    table = trees.syntax_table(total)
    row = table[(table["relation"] == "obj") & (table["looks"] == "head") & (table["layer"] == 1)
                & (table["head"] == 4)].iloc[0]
    at = total.names.index("obj")
    assert (row["n"], row["n_even"], row["n_odd"]) == (9, 6, 3) and row["possible"] == 9
    assert row["right"] == total.right[at, :, 1, 6 + 4].sum() == row["right_even"] + row["right_odd"]
    offsets = trees.offsets_table(total)
    assert len(offsets) == 2 * len(OFFSETS)
    near = offsets[(offsets["relation"] == "obj") & (offsets["offset"] == 1)].iloc[0]   # aa: its head follows
    assert (near["right"], near["n"], near["right_odd"]) == (3, 9, 1)


def test_what_has_no_tree_or_looks_at_another_text_is_not_counted():
    assert trees.counts_in(record(0), Kind.SELF, None, 0) is None
    assert trees.counts_in(record(0), Kind.CROSS, SENTENCE, 0) is None
    assert trees.together([None, None]) is None


def test_a_treebank_of_which_nothing_can_be_tested_has_empty_tables():
    elsewhere = Sentence(1, "no such words", SENTENCE.words, ())
    counts = trees.counts_in(record(0), Kind.SELF, elsewhere, 0)
    assert counts.not_found == 1 and not len(trees.syntax_table(counts)) and not len(trees.offsets_table(counts))
