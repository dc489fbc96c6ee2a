"""The command line of studies: consistent JSON."""
import csv
import json

import pytest
from click.testing import CliRunner

from clearhead.model import sources
from clearhead.model.__main__ import main
from clearhead.model.studies.claims.catalogue import words
from clearhead.model.studies.coreference import shipped_cases
from tests.model import tiny


def claims(*arguments):
    return CliRunner().invoke(main, ["claims", *arguments])


def test_missing_model_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(sources, "catalogue", lambda: {})
    rows = json.loads(claims("--only", "figure_ground", "--only", "sink", "--json").stdout)
    assert [row["fetch"] for row in rows] == ["python -m clearhead fetch smollm2",
                                          "python -m clearhead fetch dinov2-small"]
    assert {row["verdict"] for row in rows} == {words()["verdicts"]["untested"]}
    text = claims("--only", "figure_ground").stdout
    assert "python -m clearhead fetch dinov2-small" in text and "`" not in text


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two small files of shipped sentences in different frames; without the optional columns."""
    folder, cases = tmp_path_factory.mktemp("cases"), shipped_cases("coreference")
    for name, part in (("one.csv", cases[0:80:8]), ("two.csv", cases[80:160:8])):
        part = [each for case in part for each in cases if each.pair == case.pair]
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["sentence", "pronoun", "correct", "wrong", "frame"])
            writer.writerows([case.sentence, *(case.word(word) for word in ("pronoun", "correct", "wrong")),
                              case.frame] for case in part)
    return folder


def coref(*arguments):
    ran = CliRunner().invoke(main, ["coref", "--model", "minilm", "--json", *map(str, arguments)])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.output)


@pytest.fixture(scope="module")
def found(files):
    return coref("--cases", files / "two.csv")


def test_json_has_everything_and_agrees_with_itself(found):
    assert found["n"] == 20 and found["pairs"] == 10 and len(found["heads"]) == 72 and found["later"] is None
    assert set(found["baselines"]) == {"chance", "nearest", "first", "received"} and found["baselines"]["first"] == 0.5
    head = max(found["heads"], key=lambda each: (each["accuracy"]["value"], each["mass"]))
    accuracy = head["accuracy"]
    assert found["best"] == head and found["luck"]["best"] == accuracy["value"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"] and 0 < head["mass"] < 1
    assert 0 < found["luck"]["p_value"] <= 1 and len(found["held_out"]["chosen"]) == 2
    assert found["untrained"]["best"]["accuracy"]["value"] <= 1
    assert "does not predict words" in found["answers"]["reason"]


def test_select_on_scores_one_head_of_the_other_file(files, found):
    both = coref("--cases", files / "one.csv", "--select-on", files / "two.csv")
    (chosen,) = both["held_out"]["chosen"]
    assert all(chosen[name] == found["best"][name] for name in ("kind", "layer", "head"))
    same = next(head for head in both["heads"] if (head["layer"], head["head"]) == (chosen["layer"], chosen["head"]))
    assert both["held_out"]["accuracy"] == same["accuracy"]


TEXT = "a cat sat on mat because it was too tired"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny.save(tmp_path_factory.mktemp("cli") / "llama", "llama"))


def run(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_parts_of_a_score_sum_to_it(folder):
    found = run("why", "--model", folder, "--text", TEXT, "--layer", 2, "--head", 1, "--query", "it", "--key", "cat")
    assert set(found) == {"score", "total", "terms", "parts"}
    assert found["total"] == pytest.approx(found["score"], abs=1e-4)
    assert sum(part["value"] for part in found["parts"]) == pytest.approx(found["total"], abs=1e-6)
    assert {"1·3", "mlp 1"} <= {part["key_from"] for part in found["parts"]}


def test_rule_has_every_head_and_an_untrained_twin(folder, tmp_path):
    cases = tmp_path / "cases.csv"
    cases.write_text("text,verb,subject\na cat sat on mat,sat,cat\nthe animal was tired,was,animal\n", encoding="utf-8")
    found = run("score", "--model", folder, "--cases", cases, "--from", "verb", "--to", "subject")
    assert found["pairs"] == 2 and len(found["heads"]) == len(found["untrained"]["heads"]) == 12
    assert found["offset"] == [-1, 1.0]
