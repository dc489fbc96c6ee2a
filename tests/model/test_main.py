"""python -m model: what scripts get, and what people read."""
import json

import numpy as np
import pytest
from click.testing import CliRunner

from model.__main__ import main
from tests.headline import ANIMAL, TIRED, near


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_list_names_every_model():
    found = {each["id"]: each for each in json.loads(run("list", "--json").stdout)}
    assert found["minilm"]["on_disk"] and {"scratch", "smollm2", "t5"} <= set(found)
    assert "minilm" in run("list").stdout


def test_ask_as_json_with_a_pair():
    answer = json.loads(run("ask", "--model", "minilm", "--text", TIRED, "--pair", "it", "animal", "--json").stdout)
    assert answer["model"] == "minilm" and len(answer["revision"]) == 16
    (only,) = answer["maps"]
    assert only["kind"] == "self" and only["layers"] == [{"index": index, "heads": 12} for index in range(6)]
    assert only["queries"] == only["keys"] and only["queries"][10] == "it"
    assert answer["verification"]["status"] == "verified"
    assert answer["verification"]["max_error"] < 1e-5 > answer["verification"]["row_sum_error"]
    best = answer["ranking"][0]
    assert (best["kind"], best["layer"], best["head"], best["weight"]) == ("self", 3, 1, near(ANIMAL))
    assert len(answer["ranking"]) == 72


def test_a_pair_may_be_given_by_position_and_a_wrong_one_names_the_tokens():
    by_position = json.loads(run("ask", "--model", "minilm", "--text", TIRED, "--pair", "10", "2",
                                 "--json").stdout)["ranking"]
    assert (by_position[0]["layer"], by_position[0]["head"]) == (3, 1)
    wrong = run("ask", "--model", "minilm", "--text", TIRED, "--pair", "it", "zebra")
    assert wrong.exit_code == 2 and "animal" in wrong.stderr and "Traceback" not in wrong.stderr


def test_npz_holds_every_head(tmp_path):
    path = tmp_path / "weights.npz"
    assert run("ask", "--model", "minilm", "--text", TIRED, "--npz", str(path)).exit_code == 0
    with np.load(path) as arrays:
        assert arrays["self"].shape == (6, 12, 16, 16) and arrays["self"].dtype == np.float32
        np.testing.assert_allclose(arrays["self"].sum(-1), 1, atol=1e-5)
        assert arrays["queries_self"][10] == "it" and arrays["keys_self"][2] == "animal"
        assert arrays["self"][3, 1, 10, 2] == near(ANIMAL)


def test_the_npz_may_not_be_the_models_own_file(tmp_path):
    model, link = tmp_path / "own", tmp_path / "link.npz"
    model.mkdir()
    weights, gguf = model / "model.safetensors", tmp_path / "own.gguf"
    for path in (weights, gguf):
        path.write_bytes(b"weights")
    link.symlink_to(weights)
    for given, out in ((model, weights), (model, link), (gguf, gguf)):
        refused = run("ask", "--model", str(given), "--text", TIRED, "--npz", str(out))
        assert refused.exit_code == 2 and "is the file that is read" in refused.stderr
        assert out.read_bytes() == b"weights"


def test_scratch_has_its_kinds_when_a_target_is_given():
    answer = json.loads(run("ask", "--model", "scratch", "--text", "a cat", "--target", "two", "--json").stdout)
    assert {each["kind"] for each in answer["maps"]} == {"self", "causal", "cross"}


def test_verify_tells_by_its_exit_code():
    right = run("verify", "minilm")
    assert right.exit_code == 0 and "verified" in right.stdout
    wrong = run("verify", "no such model")
    assert wrong.exit_code == 1 and wrong.stderr.startswith("Error: ")


def test_reported_models_exit_with_3(tmp_path):
    from tests.model import tiny

    found = run("verify", str(tiny.save(tmp_path / "bloom", "bloom")))
    assert found.exit_code == 3 and "reported" in found.stdout


@pytest.mark.parametrize("arguments", [["ask", "--model", "minilm", "--text", "  "],
                                       ["ask", "--model", "../x", "--text", "a"], ["fetch", "../x"],
                                       ["ask", "--model", "minilm", "--text", "a", "--target", "b"]])
def test_what_cannot_be_is_one_sentence(arguments):
    found = run(*arguments)
    assert found.exit_code == 2 and found.stderr.startswith("Error: ") and found.stderr.count("\n") == 1


def test_help_teaches_and_wrong_usage_is_2():
    assert "--pair" in run("ask", "--help").stdout and "python -m model ask" in run("--help").stdout
    assert run("ask").exit_code == 2
