"""The page of claims has a line for each number, with what the verdict rests on, and says what has to be fetched."""
import json

from benchmarks import claims
from model.studies.claims.catalogue import BY_NAME, Row


def test_a_row_that_is_measured_and_one_whose_model_is_not_there(tmp_path):
    target, figures = tmp_path / "claims.md", tmp_path / "claims.json"
    claims.main(["--only", "induction_loss", "--json", str(figures)], target)
    page, (row,) = target.read_text(encoding="utf-8"), json.loads(figures.read_text(encoding="utf-8"))["rows"]
    assert row["claim"] == "induction_loss" and row["model"] == "induction" and row["seconds"] > 0
    first, second = claims.lines(row)
    assert first[0].startswith(row["sentence"]) and first[2] == f"**{row['verdict']}**" and second[:3] == ["", "", ""]
    for line, number in zip((first, second), row["findings"], strict=True):
        assert line[3] == number["what"] and f"{number['effect']:.1%}" in line[4] and str(number["n"]) in line[7]
        assert " | ".join(line) in page
    assert second[6].startswith(f"{row['findings'][1]['luck']:.1%} (")
    absent = claims.lines(claims.measured(Row(BY_NAME["figure_ground"], "", ("dinov2-small",))))
    assert len(absent) == 1 and "dinov2-small" in absent[0][3] and absent[0][1] == "–"
