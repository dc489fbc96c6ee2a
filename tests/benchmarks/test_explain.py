"""The page of the benchmark says what was measured."""
import json

from benchmarks import explain


def test_a_small_model_writes_its_figures_and_keeps_those_of_others(tmp_path, monkeypatch):
    file, mean = tmp_path / "figures.json", {"value": 0.5, "low": 0.4, "high": 0.6, "texts": 9}
    said = {"methods": {"rollout": [mean] * 4, "weight_head": [mean] * 4}, "ceiling": [mean | {"texts": 0}] * 4,
            "best": mean,
            "chosen": [[1, 0], [0, 2]], "texts": 9, "words": 7.5}
    other = {"report": said, "left_out": 1, "seconds": 2.0, "layers": {"weight": [0.1, 0.2], "norm": [0.3, 0.4]}}
    file.write_text(json.dumps({"models": {"smollm2": {"sentences": other}}}), encoding="utf-8")
    texts, questions = explain.texts, explain.questions   # six of each are enough to be ranked
    monkeypatch.setattr(explain, "texts", lambda which: texts(which)[:6])
    monkeypatch.setattr(explain, "questions", lambda *asked: questions(*asked)[:6])
    explain.main(["--model", "resolver-wide", "--json", str(file)], tmp_path / "explain.md")
    page = (tmp_path / "explain.md").read_text(encoding="utf-8")
    assert "| rollout | 0.50 (0.40 to 0.60) |" in page and "| – |" in page
    assert "By layer from 0, attention: 0.10 0.20" in page
    assert "The best head (1·0 and 0·2, each scored on the other half): 0.50 (0.40 to 0.60). 9 texts, 7.5 " in page
    assert "attention 1·0" not in page and "## resolver-wide" in page and "6 texts" in page
    assert set(json.loads(file.read_text(encoding="utf-8"))["models"]) == {"smollm2", "resolver-wide"}
