"""A row as JSON: its schema, and that the verdict follows the numbers."""
import dataclasses
import json

from model.studies.claims.catalogue import BY_NAME, Row, as_object, words
from model.studies.claims.claim import Finding, Measurement, Picture

ROW = Row(BY_NAME["previous"], "minilm")
FOUND = Finding("previous", 0.7, 0.6, 0.8, 0.5, 60, "texts", "share", 0.7, 0.1, ((0, 2), (1, 3)))
FIELDS = {"claim", "sentence", "source", "there", "here", "model", "revision", "findings", "verdict", "because",
          "fetch", "picture", "measurement"}
OF_FINDING = {"name", "what", "effect", "baseline", "best", "luck", "interval", "unit", "n", "counted", "heads",
              "reason"}


def measured(**changes) -> Measurement:
    return Measurement((dataclasses.replace(FOUND, **changes),), Picture("heads", "minilm", "A text.", head=(0, 2)))


def test_the_schema():
    row = json.loads(json.dumps(as_object(ROW, "abc", measured()), allow_nan=False))
    assert set(row) == FIELDS and set(row["findings"][0]) == OF_FINDING
    assert row["findings"][0]["interval"] == [0.6, 0.8] and row["findings"][0]["heads"] == [[0, 2], [1, 3]]
    assert row["source"].startswith("@inproceedings{clark2019") and "abc" in row["measurement"]
    assert row["measurement"].count("{") == row["measurement"].count("}")
    assert row["picture"]["page"] == "heads" and row["fetch"] is None


def test_the_verdict_follows_the_numbers():
    said = words()["verdicts"]
    assert as_object(ROW, "r", measured())["verdict"] == said["holds"]
    for changes, verdict in (({"low": 0.4}, "fails"), ({"luck": 0.9}, "fails"), ({"n": 3}, "untested"),
                             ({"effect": float("nan")}, "untested")):
        row = as_object(ROW, "r", measured(**changes))
        assert row["verdict"] == said[verdict] and row["because"]
        json.dumps(row, allow_nan=False)


def test_a_claim_without_a_model_says_which_to_fetch():
    row = as_object(Row(BY_NAME["figure_ground"], "", ("dinov2-small",)), None, None)
    assert row["verdict"] == words()["verdicts"]["untested"] and "dinov2-small" in row["because"]
    assert row["fetch"] == "python -m model fetch dinov2-small" and row["findings"] == [] and row["measurement"] is None


def test_a_model_that_cannot_be_asked_says_why():
    row = as_object(ROW, "r", None, "It only reports its weights.")
    assert row["because"] == "It only reports its weights." and row["verdict"] == words()["verdicts"]["untested"]
