"""python -m model coref, on MiniLM and a dozen sentences."""
import csv
import json

import pytest
from click.testing import CliRunner

from model.__main__ import main
from model.studies.coreference import shipped_cases


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
    return CliRunner().invoke(main, ["coref", "--model", "minilm", *map(str, arguments)])


def test_json_has_everything_and_agrees_with_itself(files):
    ran = coref("--cases", files / "one.csv", "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.output)
    assert found["n"] == 20 and found["pairs"] == 10 and len(found["heads"]) == 72 and found["later"] is None
    assert set(found["baselines"]) == {"chance", "nearest", "first", "received"} and found["baselines"]["first"] == 0.5
    head = max(found["heads"], key=lambda each: (each["accuracy"], each["mass"]))
    assert found["best"] == head and found["luck"]["best"] == head["accuracy"]
    assert head["interval"][0] <= head["accuracy"] <= head["interval"][1] and 0 < head["mass"] < 1
    assert 0 < found["luck"]["p_value"] <= 1 and len(found["held_out"]["chosen"]) == 2
    assert found["untrained"]["best"]["accuracy"] <= 1 and "does not predict words" in found["answers"]["reason"]


def test_select_on_scores_one_head_of_the_other_file(files):
    both = json.loads(coref("--cases", files / "one.csv", "--select-on", files / "two.csv", "--json").output)
    other = json.loads(coref("--cases", files / "two.csv", "--json").output)
    (chosen,) = both["held_out"]["chosen"]
    assert chosen == {name: other["best"][name] for name in ("kind", "layer", "head")}
    same = next(head for head in both["heads"] if (head["layer"], head["head"]) == (chosen["layer"], chosen["head"]))
    assert both["held_out"]["accuracy"] == same["accuracy"]
