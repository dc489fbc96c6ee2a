"""The command `clearhead`: its output for scripts and for people."""
import hashlib
import json

import numpy as np
from click.testing import CliRunner
from PIL import Image

from clearhead.model.__main__ import main
from tests.headline import ANIMAL, TIRED, near
from tests.model import tiny, tiny_vision


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


def test_verify_reports_by_its_exit_code(tmp_path):
    for model, code, said in (("minilm", 0, "verified"), (str(tiny.save(tmp_path / "bloom", "bloom")), 3, "reported")):
        found = run("verify", model)
        assert found.exit_code == code and said in found.stdout
    wrong = run("verify", "no such model")
    assert wrong.exit_code == 1 and wrong.stderr.startswith("Error: ")


def test_picture_is_asked_about_as_json_and_as_npz(tmp_path):
    picture_model = str(tiny_vision.save(tmp_path / "registers", "dinov2_registers"))
    photograph, out = tmp_path / "photo.png", tmp_path / "weights.npz"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (50, 70, 3), np.uint8)).save(photograph)
    ran = run("ask", "--model", picture_model, "--image", str(photograph), "--json", "--npz", str(out))
    answer = json.loads(ran.stdout)
    assert answer["image"] == {"sha256": hashlib.sha256(photograph.read_bytes()).hexdigest(), "width": 70,
                               "height": 50, "patches": [4, 4]}
    assert answer["verification"]["status"] == "verified" and answer["maps"][0]["keys"][4:6] == ["0,0", "0,1"]
    with np.load(out) as arrays:
        assert arrays["self"].shape == (3, 4, 20, 20)
        np.testing.assert_allclose(arrays["self"].sum(-1), 1, atol=1e-5)
        assert arrays["special_self"].tolist() == [True] * 4 + [False] * 16
        boxes = arrays["boxes_self"]
        assert np.isnan(boxes[:4]).all() and boxes.shape == (20, 4)
        np.testing.assert_allclose(boxes[[4, 5, 8, 19]], [(0, 0, .25, .25), (.25, 0, .5, .25), (0, .25, .25, .5),
                                                          (.75, .75, 1, 1)])
        assert json.loads(str(arrays["provenance"]))["image"] == answer["image"]["sha256"]
    assert "most like [CLS]: " in run("ask", "--model", picture_model, "--image", str(photograph)).stdout


def test_chat_uses_the_models_template(tmp_path):
    folder = tiny.save(tmp_path / "mine", "llama")
    ran = run("ask", "--model", str(folder), "--text", "the cat", "--chat")
    assert ran.exit_code == 2 and "has no chat template" in ran.stderr and "turn chat off" in ran.stderr
    (folder / "chat_template.jinja").write_text("[CLS] {{ messages[0].content }} [SEP]", encoding="utf-8")
    answer = json.loads(run("ask", "--model", str(folder), "--text", "the cat", "--chat", "--json").stdout)
    assert answer["chat"] is True and answer["maps"][0]["keys"] == ["[CLS]", "the", "cat", "[SEP]"]
