"""Both command lines with unusual arguments: they run, or refuse in one sentence."""
import io
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from huggingface_hub import constants
from hypothesis import given, settings
from PIL import Image

from benchmarks.bomb_files import FILES
from clearhead.model.__main__ import main as model_commands
from clearhead.model.cli import studies
from clearhead.model.cli.commands import Commands
from clearhead.model.core import files
from clearhead.model.core.query import UserError
from clearhead.model.pretrained import convert
from clearhead.model.pretrained.catalogue import Unreachable
from clearhead.model.scratch import models, train
from clearhead.model.studies import coreference
from clearhead.viz.export.handout import pdf as handout_pdf
from clearhead.viz.export.handout.files import Handout, save
from tests import fabricate
from tests.fabricate import items
from tests.model.cli.command_lines import LINES, PROGRAMS, command_lines
from tests.uploads import packed


@cache
def built() -> dict[str, bytes]:
    """The files of an atlas."""
    with TemporaryDirectory() as place:
        (Path(place) / "texts.txt").write_bytes(b"abcabc\n")
        done = CliRunner().invoke(model_commands, ["atlas", "build", f"{place}/texts.txt", "--model", "induction",
                                                   "--out", f"{place}/atlas"])
        assert done.exit_code == 0, done.output
        return {f"atlas/{path.name}": path.read_bytes() for path in (Path(place) / "atlas").iterdir()}


@cache
def contents() -> dict[str, bytes]:
    """Valid and invalid files."""
    attention = io.BytesIO()
    np.savez(attention, attention=np.full((2, 2, 3, 3), 1 / 3, np.float32), tokens=np.array(["a", "b", "c"]))
    tree = "# text = The cat\n1\tThe\t_\t_\t_\t_\t{}\tdet\t_\t_\n2\tcat\t_\t_\t_\t_\t{}\tsubj\t_\t_\n\n"
    image = packed(Image.effect_noise((40, 30), 50))
    with TemporaryDirectory() as place:
        saved = fabricate.record(3).save(Path(place) / "good.safetensors").read_bytes()
    cases = "sentence,pronoun,correct,wrong\nThe cat saw the dog and it ran.,it,dog,cat\n"
    return {
        "good.txt": b"abcabc\nabab\n", "good.csv": b"text\nabcabc\n", "cases.csv": cases.encode(),
        "good.jsonl": b'{"text": "abcabc"}\n"\\ud800"\n', "good.npz": attention.getvalue(),
        "good.handout.json": save(Handout("A lesson", (items.head(),))), "latin.txt": b"caf\xe9\n",
        "latin.csv": b"text,sentence,pronoun,correct,wrong\n\xff,\xff\n", "zero.txt": b"a\0b\n",
        "half.jsonl": b'{"text": ' + b"[" * 5000, "bad.npz": attention.getvalue()[:200], "bad.gguf": b"GGUF\3",
        "good.png": image, "half.png": image[:300],
        "bomb.png": FILES["picture"]["6,000,000 by 1"](),
        "gif.png": b"GIF89a\1\0\1\0", "empty.png": b"", "good.safetensors": saved, "half.safetensors": saved[:900],
        "bad.safetensors": saved.replace(b"Clearhead", b"Clearbead"), "good.conllu": tree.format(2, 0).encode(),
        "half.conllu": tree.format(2, 0)[:30].encode(), "circle.conllu": tree.format(2, 1).encode(),
        "latin.conllu": b"# text = \xe9\n", "half.parquet": b"PAR1\0\0", **built(),
        "bad.handout.json": b'{"items": [1e400]}', "half.csv": cases.encode()[:50], "empty.txt": b"", "empty.csv": b"",
        "empty.npz": b""}


def fill(folder: Path) -> None:
    """Make the folder contain these files and nothing from earlier command lines."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "folder").mkdir(parents=True)
    (folder / "folder.png").mkdir()
    (folder / "atlas").mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    for name, content in contents().items():
        (folder / name).write_bytes(content)


@pytest.fixture
def stubbed(monkeypatch, tmp_path):
    """Replace what takes minutes or the network: training, claims, downloads, PDF; shorten the cases."""
    def no_training(task, out, steps=None, seed=1, progress=None):
        path = Path(out) / f"{task.name}.safetensors"
        files.make_folder(path.parent)
        models.write(path, {}, {"scores": {"right": 1.0}})
        return path

    def no_measurement(query):
        raise UserError("Nothing is measured in this test.")

    def no_network(*_, **__):
        raise Unreachable("There is no network in this test; models on this disk still work.")

    folder = tmp_path / "b" / "c" / "d"   # so deep that no path of these leads out of it
    fill(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLEARHEAD_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(convert, "download", no_network)
    monkeypatch.setattr(train, "train", no_training)
    few = coreference.shipped_cases("coreference")[:4]
    monkeypatch.setattr(studies, "answer_to", no_measurement)
    monkeypatch.setattr(coreference, "shipped_cases", lambda name: few)
    monkeypatch.setattr(handout_pdf, "pdf", lambda _: b"%PDF-1.4")
    return folder


def ended_well(program: str, line: list[str]) -> Result:
    """Run a command line and return its result. Fails unless it runs, or is refused with a reason."""
    ran = CliRunner().invoke(PROGRAMS[program], line, prog_name=f"python -m {program}")
    story = f"{program} {[word[:80] for word in line]}: {ran.exit_code} {ran.output[-300:]!r} {ran.exception!r}"
    assert ran.exception is None or isinstance(ran.exception, SystemExit), story
    done, refused = ((0, 3), (1, 2)) if line[:1] == ["verify"] else ((0,), (2,))
    assert ran.exit_code in done + refused, story
    if ran.exit_code in refused:
        assert ran.stdout == "" and "Error: " in ran.stderr, story
    return ran


@settings(max_examples=LINES)
@given(command_lines())
def test_any_command_line_runs_or_is_refused(stubbed, line):
    fill(stubbed)
    os.chdir(stubbed)
    ended_well(*line)


@click.group(cls=Commands)
def faulty():
    """Commands that end in every other way."""


@faulty.command()
@click.argument("way")
def end(way):
    """End in this way."""
    raise {"memory": MemoryError(), "user": UserError("No room; leave it."), "abort": click.Abort(),
           "os": PermissionError(13, "Permission denied", "/x")}[way]


@pytest.mark.parametrize(("way", "code", "sentence"), [
    ("memory", 2, "does not have enough memory"), ("user", 2, "No room; leave it."),
    ("os", 2, "/x cannot be read or written (Permission denied); choose"), ("abort", 1, "Aborted!")])
def test_every_way_to_end_is_one_line(way, code, sentence):
    ran = CliRunner().invoke(faulty, ["end", way])
    assert ran.exit_code == code and sentence in ran.stderr and ran.stderr.strip().count("\n") == 0, ran.stderr
