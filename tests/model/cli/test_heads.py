"""compare, score, why, writes, lens, paths and circuits: their JSON adds up and says what the studies found."""
import json

import pytest
from click.testing import CliRunner

from model.__main__ import main
from tests.model import tiny

TEXT, TWIN = "a cat sat on mat because it was too tired", "a cat sat on mat because it was too wide"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(tiny.save(tmp_path_factory.mktemp("cli") / "llama", "llama"))


def run(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_parts_of_a_score_sum_to_it(folder):
    found = run("why", "--model", folder, "--text", TEXT, "--layer", 2, "--head", 1, "--query", "it", "--key", "cat")
    assert set(found) == {"score", "total", "terms", "parts"}
    assert found["total"] == pytest.approx(found["score"], abs=1e-4)
    assert sum(part["value"] for part in found["parts"]) == pytest.approx(found["total"], abs=1e-6)
    assert {"1·3", "mlp 1"} <= {part["key_from"] for part in found["parts"]}


def test_the_parts_of_a_logit_sum_to_it(folder):
    found = run("writes", "--model", folder, "--text", TEXT, "--position", -1, "--answer", "cat", "--rival", "mat")
    whole = found["embedding"] + sum(map(sum, found["heads"])) + sum(found["feed_forward"]) + found["bias"]
    assert whole == pytest.approx(found["difference"], abs=1e-4)


def test_the_lens_has_a_row_a_layer_and_ends_without_divergence(folder):
    rows = run("lens", "--model", folder, "--text", TEXT)["layers"]
    assert [row["layer"] for row in rows] == [-1, 0, 1, 2]
    assert rows[-1]["divergence"] == pytest.approx(0, abs=1e-9)


def test_paths_come_from_earlier_layers_alone(folder):
    found = run("paths", "--model", folder, "--text", TEXT, "--twin", TWIN, "--answer", "cat", "--rival", "mat",
                "--receiver", 1, 2, "--reads", "key")
    assert {row["layer"] for row in found["paths"]} == {0} and len(found["paths"]) == 4


def test_circuits_name_every_head_and_pairs_above_the_null(folder):
    found = run("circuits", "--model", folder)
    assert len(found["heads"]) == 12 and set(found["null"]) == {"Q", "K", "V"}
    assert all(pair["score"] > found["null"][pair["kind"]]["high"] for pair in found["pairs"])


def test_a_rule_has_every_head_in_its_table_and_an_untrained_twin(folder, tmp_path):
    cases = tmp_path / "cases.csv"
    cases.write_text("text,verb,subject\na cat sat on mat,sat,cat\nthe animal was tired,was,animal\n", encoding="utf-8")
    found = run("score", "--model", folder, "--cases", cases, "--from", "verb", "--to", "subject")
    assert found["pairs"] == 2 and len(found["heads"]) == len(found["untrained"]["heads"]) == 12
    assert found["offset"] == {"words": -1, "accuracy": 1.0}


def test_equal_models_differ_in_nothing_and_texts_in_something(folder, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{TEXT}\n{TWIN}\n", encoding="utf-8")
    same = run("compare", "--model", folder, "--with", folder, "--texts", texts)
    assert all(row["divergence"] == 0 for row in same["heads"])
    other = run("compare", "--model", folder, "--text", TEXT, "--text-2", TWIN)
    assert other["heads"][0]["divergence"] > 0
