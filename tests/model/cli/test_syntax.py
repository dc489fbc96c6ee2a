"""python -m model syntax, on MiniLM and a few sentences."""
import json

import pytest
from click.testing import CliRunner

from model.__main__ import main
from model.ask import sources
from model.studies.syntax import SyntaxQuery, read_treebank

SENTENCES = (("The cat saw a dog .", "2 det,3 nsubj,0 root,5 det,3 obj:x,3 punct"),
             ("My friend bought the book .", "2 nmod:poss,3 nsubj,0 root,5 det,3 obj,3 punct"),
             ("The old man ate fish .", "3 det,3 amod,4 nsubj,0 root,4 obj,4 punct"),
             ("A dog ate the fish .", "2 det,3 nsubj,0 root,5 det,3 obj,3 punct"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    blocks = []
    for text, tree in SENTENCES:
        words = [f"{place}\t{form}\t_\t_\t_\t_\t{edge.replace(' ', chr(9))}\t_\t_"
                 for place, (form, edge) in enumerate(zip(text.split(), tree.split(",")), 1)]
        blocks.append("\n".join([f"# text = {text}", *words]) + "\n\n")
    path = tmp_path_factory.mktemp("ud") / "small.conllu"
    path.write_text("".join(blocks), encoding="utf-8")
    return path


def syntax(*arguments):
    return CliRunner().invoke(main, ["syntax", *map(str, arguments)])


def test_json_is_the_report(file):
    ran = syntax(file, "--model", "minilm", "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.output)
    with file.open("rb") as opened:
        question = SyntaxQuery("minilm", sources.revision("minilm"), read_treebank(opened, file.name))
    report = sources.ask(question).result(60)
    assert found["sentences"] == 4 and set(found["relations"]) == {"det", "nsubj", "obj", "punct", "nmod", "amod"}
    for name, relation in found["relations"].items():
        score = report.named(name)
        assert {"n", "held_out", "interval", "offset", "luck", "chosen", "best"} <= set(relation)
        assert (relation["n"], relation["best"]["accuracy"], relation["luck"]) == (
            score.n, score.accuracy, score.luck.mean)
        assert set(relation["best"]) == {"from", "layer", "head", "accuracy"}
        assert relation["possible"] == {"dependent": 1, "head": 1}
    det = found["relations"]["det"]
    assert det["n"] == 6 and len(det["chosen"]) == 2 and det["interval"][0] <= det["held_out"] <= det["interval"][1]
    assert found["relations"]["nmod"]["held_out"] is None   # it stands in one half only
    assert found["left_out"] == {"form_not_found": 0, "too_long": 0} and found["alone"] == 0


def test_relations_are_chosen_by_name(file):
    ran = syntax(file, "--model", "minilm", "--relations", "obj, det", "--json")
    assert set(json.loads(ran.output)["relations"]) == {"obj", "det"}


def test_for_a_person_it_is_a_table(file):
    ran = syntax(file, "--model", "minilm")
    assert ran.exit_code == 0 and "4 sentences, 72 heads" in ran.output and "\ndet " in ran.output
    assert "left out" not in ran.output
