"""The command `clearhead export`: its output for a script and for a person without a browser."""
import io
from pathlib import Path

import numpy as np
import pypdf
import pytest
from click.testing import CliRunner
from PIL import Image

from clearhead.model import sources
from clearhead.model.core.query import Kind
from clearhead.viz import __main__ as viz_main
from clearhead.viz.__main__ import main
from clearhead.viz.export.formats import FORMATS
from clearhead.viz.export.handout.files import Handout, save
from tests.conftest import chromium
from tests.fabricate import items, record
from tests.viz.export.readers import provenance_of

WORDS = ("the", "animal", "it", "the")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command on a fabricated record; files are written to a separate folder."""
    def open_query(model, text, text_b=None, target=None, edits=(), image=None):
        return text

    monkeypatch.setattr(sources, "open_query", open_query)
    monkeypatch.setattr(viz_main, "answer_to", lambda text: record(WORDS, text=text))

    def invoke(*words, name="out.png"):
        found = CliRunner().invoke(
            main, ["export", "--model", "fake", "--text", "the animal", *words, "--out", str(tmp_path / name)])
        return found, tmp_path / name

    return invoke


def test_options_reach_the_picture(run):
    plain = Image.open(io.BytesIO(run()[1].read_bytes())).size
    assert np.allclose(np.array(Image.open(io.BytesIO(run("--zoom", "4")[1].read_bytes())).size) / plain, 2, rtol=0.01)
    assert Image.open(io.BytesIO(run("--no-caption")[1].read_bytes())).size[1] < plain[1]
    _, file = run("--lens", "lines", "--scale", "log", "--words", "--hide-special", "--transpose", "--token", "animal")
    said = provenance_of(".png", file.read_bytes())
    assert [said["view"][name] for name in ("lens", "scale", "words", "hide_special", "transpose",
                                            "token")] == ["lines", "log", True, True, True, 1]
    assert said["kind"] == Kind.SELF
    assert run("--grid", name="all.pdf")[0].exit_code == 0


@pytest.mark.parametrize("words, name, sentence", [
    ((), "out.docx", "has no known file extension"), (("--layer", "99"), "out.png", "layer 99"),
    (("--kind", "cross"), "out.png", "no 'cross' attention"), (("--token", "nothere"), "out.png", "no token 'nothere'"),
    (("--layer", "3", "--head", "0.1"), "out.png", "layers;"), (("--head", "0.0", "--head", "0.9"), "a.pdf", "head 9"),
    (("--grid",), "out.csv", "cannot show the grid"), ((), "missing/out.png", "choose another path")])
def test_errors_are_one_sentence_and_exit_code_2(run, words, name, sentence):
    found, file = run(*words, name=name)
    assert found.exit_code == 2 and not file.exists()
    assert sentence in found.stderr and "Traceback" not in found.output


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_imported_attention_is_exported_in_every_format(tmp_path, suffix):
    weights = np.random.default_rng(1).dirichlet(np.ones(3), (2, 4, 3)).astype(np.float32)
    np.savez(tmp_path / "mine.npz", attention=weights, tokens=["the", "animal", "it"])
    out = tmp_path / f"out{suffix}"
    done = CliRunner().invoke(main, ["export", "--record", str(tmp_path / "mine.npz"), "--layer", "1", "--head", "3",
                                     "--pair", "it", "animal", "--out", str(out)])
    assert done.exit_code == 0, done.output
    apart = suffix == ".csv"   # its provenance is a file beside it
    said = provenance_of(".json" if apart else suffix, Path(f"{out}.json" if apart else out).read_bytes())
    assert said["verification"]["status"] == "imported" and said["title"] == "mine.npz"
    assert (said["layer"], said["head"], said["view"]["pair"], said["text"]) == (1, 3, [2, 1], "the animal it")
    if suffix == ".npz":
        with np.load(out) as arrays:
            np.testing.assert_array_equal(arrays["self"], weights)
    elif suffix in (".svg", ".html"):
        assert "imported from a file, not verified" in out.read_text(encoding="utf-8")


def test_handout_becomes_html_and_pdf(tmp_path):
    """The PDF is printed by the tests' browser."""
    source = tmp_path / "lesson.handout.json"
    source.write_bytes(save(Handout("A lesson", (items.head(), items.curve()))))
    done = CliRunner().invoke(main, ["handout", str(source), "--html", str(tmp_path / "a.html"), "--pdf",
                                     str(tmp_path / "a.pdf")],
                              env={"BROWSER_PATH": chromium()})
    assert done.exit_code == 0, done.output
    text = "\n".join(each.extract_text() for each in pypdf.PdfReader(tmp_path / "a.pdf").pages)
    assert "A lesson" in text and "Figure 1." in text
    assert b"Content-Security-Policy" in (tmp_path / "a.html").read_bytes()
    for arguments, sentence in (([str(source), "--pdf", str(tmp_path / "b.pdf")], "needs Chromium"),
                                ([str(source)], "give --html OUT"),
                                ([__file__, "--html", str(tmp_path / "c.html")], "not a handout")):
        refused = CliRunner().invoke(main, ["handout", *arguments], env={"BROWSER_PATH": "", "PATH": str(tmp_path)})
        assert refused.exit_code == 2 and sentence in refused.output


def test_handout_is_not_overwritten_by_its_output(tmp_path):
    source, link = tmp_path / "lesson.handout.json", tmp_path / "link.html"
    source.write_bytes(save(Handout("A lesson", (items.curve(),))))
    content = source.read_bytes()
    link.symlink_to(source)
    for option, out in (("--html", source), ("--pdf", source), ("--html", link)):
        refused = CliRunner().invoke(main, ["handout", str(source), option, str(out)])
        assert refused.exit_code == 2 and "is the input file" in refused.stderr
        assert source.read_bytes() == content
    both = CliRunner().invoke(main, ["handout", str(source), "--html", str(tmp_path / "out"),
                                     "--pdf", str(tmp_path / ".." / tmp_path.name / "out")])
    assert both.exit_code == 2 and "would both be" in both.stderr and not (tmp_path / "out").exists()


def test_notebook_is_written_once(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEARHEAD_ADDRESS", "https://clearhead.example.org/")
    found = CliRunner().invoke(main, ["notebook", "cost"])
    assert found.exit_code == 0 and found.output.startswith("cost.ipynb: ")
    written = (tmp_path / "cost.ipynb").read_text(encoding="utf-8")
    assert "https://clearhead.example.org/cost" in written and "6 * d" not in written
    again = CliRunner().invoke(main, ["notebook", "cost"])
    assert again.exit_code == 2 and "--out" in again.output and "Traceback" not in again.output
    assert CliRunner().invoke(main, ["notebook", "cost", "--solution", "--out", "mine.ipynb"]).exit_code == 0
    assert "6 * d" in (tmp_path / "mine.ipynb").read_text(encoding="utf-8")


def test_site_is_not_mixed_with_other_files(tmp_path):
    (tmp_path / "index.html").write_bytes(b"of an older site")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    found = CliRunner().invoke(main, ["site", str(tmp_path)])
    assert found.exit_code == 2 and "holds notes.txt, which is not part of the site" in found.stderr
    assert (tmp_path / "index.html").read_bytes() == b"of an older site"
