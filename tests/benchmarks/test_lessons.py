"""The table of answers: lessons that were not measured this time keep their rows."""
from benchmarks import lessons


def test_a_row_counts_medians_and_what_is_within_the_bar():
    moves = [(100.0, 400.0, False), (290.0, 500.0, False), (0, 0, False), (310.0, 900.0, False), (5000.0, 5000.0, True)]
    assert lessons.rows("softmax", {"slider": moves})[0].startswith("| softmax | slider | 5 | 1 | 1 | 290 | 310 | 500 | 900 | 2 of 3 | ")
    assert lessons.rows("cost", {"switch": [(0, 0, False)]})[0].startswith("| cost | switch | 1 | 1 | 0 | – | – | – | – | 0 of 0 | ")


def test_a_table_keeps_the_rows_of_other_lessons(tmp_path):
    path = tmp_path / "lessons.md"
    lessons.write(path, {"softmax": {"slider": [(100.0, 100.0, False)]}, "masks": {"cell": [(50.0, 60.0, False)]}})
    lessons.write(path, {"softmax": {"handle": [(200.0, 300.0, False)]}})
    kept = [line.split(" | ")[:2] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert kept[2:] == [["| masks", "cell"], ["| softmax", "handle"]]
