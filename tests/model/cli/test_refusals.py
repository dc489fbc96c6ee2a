"""Errors of the command line are true: the cause is planted, the sentence names it, and its advice works."""
from collections.abc import Sequence

import numpy as np
import pytest
from click.testing import CliRunner

from tests.model.cli.command_lines import PROGRAMS

ASK = ("ask", "--model", "induction", "--text", "abc")
EXPORT = ("export", "--out", "a.csv")
OURS = (*EXPORT, "--model", "induction", "--text", "abc")
ATLAS = ("atlas", "build", "texts.txt", "--out", "atlas", "--model")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A folder with texts, and with attention as floats, integers and objects."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("abc\n", encoding="utf-8")
    weights, tokens = np.eye(2, dtype=int)[None, None], np.array(["a", None], object)
    np.savez("ints.npz", attention=weights, tokens=["a", "b"])
    np.savez("floats.npz", attention=np.array(weights, dtype=np.float32), tokens=["a", "b"])
    np.savez("objects.npz", attention=np.array(weights, dtype=np.float32), tokens=tokens)
    np.savez("texts.npz", attention=np.array(weights, dtype=np.float32), tokens=np.array(tokens, dtype=str))


def run(program: str, line: Sequence[str]) -> tuple[int, str]:
    ran = CliRunner().invoke(PROGRAMS[program], line)
    return ran.exit_code, ran.stderr


@pytest.mark.parametrize(("program", "line", "said", "way"), [
    ("viz", (*OURS, "--head", "0", "--head", "1"), "Give several heads as LAYER.HEAD", (*OURS, "--head", "0.1")),
    ("viz", (*OURS, "--pair", "a", "b", "--token", "c"), "give either --pair or --token", (*OURS, "--token", "c")),
    ("viz", ("export", "--out", "a.html", *OURS[3:], "--lens", "picture", "--token", "a"), "is for vision models",
     ("export", "--out", "a.html", *OURS[3:])),
    ("model", (*ATLAS, "marked-digit"), "choose a model that reads text", (*ATLAS, "induction")),
    ("model", ("fetch", "induction"), "nothing to fetch; use it directly", ASK),
    ("model", ("ask", "--model", "induction@x", "--text", "abc"), "'induction@x' is not a snapshot",
     ("ask", "--model", "induction@0", "--text", "abc")),
    ("viz", (*EXPORT, "--record", "ints.npz"), "attention holds int64; save it as np.array(attention, dtype",
     (*EXPORT, "--record", "floats.npz")),
    ("viz", (*EXPORT, "--record", "objects.npz"), "tokens holds Python objects", (*EXPORT, "--record", "texts.npz"))])
def test_refusal_names_its_cause_and_its_advice_works(program, line, said, way):
    code, sentence = run(program, line)
    assert code == 2 and said in sentence, sentence
    assert run(program, way)[0] == 0
