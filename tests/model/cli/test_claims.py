"""python -m model claims: rows measured anew, on this disk and with a model that is not there."""
import json

from click.testing import CliRunner

from model.__main__ import main
from model.ask import sources
from model.studies.claims.catalogue import words
from tests.model.studies.claims.test_report import FIELDS


def claims(*arguments):
    return CliRunner().invoke(main, ["claims", *arguments])


def test_a_row_is_measured_and_its_verdict_is_that_of_the_rule():
    ran = claims("--only", "special", "--json")
    assert ran.exit_code == 0, ran.output
    rows = json.loads(ran.stdout)
    assert rows[0]["model"] == "minilm" and all(set(row) == FIELDS for row in rows)
    found = rows[0]["findings"][0]
    above = found["interval"][0] > found["baseline"]
    assert rows[0]["verdict"] == words()["verdicts"]["holds" if above else "fails"]
    assert rows[0]["revision"] == sources.revision("minilm") and rows[0]["revision"] in rows[0]["measurement"]
    assert "special minilm" in ran.stderr, "progress is on standard error"


def test_a_claim_whose_model_is_not_there_says_which_to_fetch(monkeypatch):
    monkeypatch.setattr(sources, "catalogue", lambda: ())
    rows = json.loads(claims("--only", "figure_ground", "--only", "sink", "--json").stdout)
    assert [row["fetch"] for row in rows] == ["python -m model fetch smollm2", "python -m model fetch dinov2-small"]
    assert {row["verdict"] for row in rows} == {words()["verdicts"]["untested"]}
    text = claims("--only", "figure_ground").stdout
    assert "python -m model fetch dinov2-small" in text and "`" not in text
