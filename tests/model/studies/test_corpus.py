"""Averages over texts against numpy on the single texts, and a run that is stopped against one that is not."""
import csv
import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from model.__main__ import main
from model.ask import sources
from model.ask.sources import models
from model.cli import corpus
from model.core import measures
from model.core.query import Kind, UserError
from model.core.types import quiet
from model.studies import patterns
from model.studies.corpus import FIT, TextsQuery, as_csv, as_object, averages_of, from_object, merge, run
from tests import fabricate
from tests.children import on_a_full_disk

SENTENCES = ("The animal was tired.", "It was too wide to cross, and it was late.", "A book.", "Where is it?", "=1+1",
             "one", "It is what it is.",
             "Nobody came.", "The street was too wide.", "She saw the man with the telescope.", "x " * 40)


def records():
    return [fabricate.record(5 + place, seed=10 * place) for place in range(4)]


@given(st.integers(1, 3))
def test_merged_averages_are_those_of_all_texts_however_they_are_grouped(cut):
    singles = [averages_of(each, Kind.SELF) for each in records()]
    first, second = (total(part) for part in (singles[:cut], singles[cut:]))
    found = merge(first, second)
    for row, name in enumerate(found.names):
        for column, place in enumerate(found.heads):
            numbers = [each.mean[row, column] for each in singles if each.count[row, column]]
            assert found.count[row, column] == len(numbers)
            if numbers:
                assert found.mean[row, column] == pytest.approx(np.mean(numbers), abs=1e-12), (name, place)
            if len(numbers) > 1:
                assert found.spread[row, column] == pytest.approx(np.std(numbers, ddof=1), abs=1e-12)
    assert (found.texts, found.tokens) == (4, 5 + 6 + 7 + 8)


def total(parts):
    found = parts[0]
    for each in parts[1:]:
        found = merge(found, each)
    return found


def test_one_text_has_its_own_measures_and_fits_and_no_spread():
    record = fabricate.record(7)
    found = averages_of(record, Kind.SELF)
    assert found.by_head("entropy") == measures.measure(record[Kind.SELF]).by_head("entropy")
    fitted = patterns.fit(record[Kind.SELF])
    assert found.by_head(FIT + "even") == fitted.frame()["even"].to_dict() and np.isnan(found.spread).all()
    assert found.best().equals(fitted.best())
    assert found.by_head(FIT + "equal") == {}   # one token of seven occurs twice: no room for the pattern


def test_averages_survive_json_bit_for_bit_and_nothing_else_does():
    found = averages_of(fabricate.record(7), Kind.SELF)
    back = from_object(json.loads(json.dumps(as_object(found))))
    assert all((getattr(back, name) == getattr(found, name)).all() for name in ("count", "mean", "squares"))
    assert (back.kind, back.heads, back.names, back.texts) == (found.kind, found.heads, found.names, found.texts)
    for broken in ({}, as_object(found) | {"mean": [[1.0]]},
                   as_object(found) | {"mean": [[float("nan")] * 12] * len(found.names)}):
        with pytest.raises((ValueError, KeyError)):
            from_object(broken)


def test_other_heads_and_unknown_kinds_are_refused():
    one = averages_of(fabricate.record(7), Kind.SELF)
    with pytest.raises(ValueError, match="same heads"):
        merge(one, averages_of(fabricate.record(7, Kind.CAUSAL), Kind.CAUSAL))
    with pytest.raises(UserError, match="has no cross attention"):
        run(TextsQuery("fake", "0", Kind.CROSS, ((1, "a"),)), lambda query: fabricate.record(),
            lambda fraction, text: None)


def test_an_error_in_a_text_names_its_line():
    def refuse(query):
        raise UserError("too long.")

    with pytest.raises(UserError, match=r"line 7: too long\."):
        run(TextsQuery("fake", "0", None, ((7, "a"),)), refuse, lambda fraction, text: None)


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("\n\n".join(SENTENCES), encoding="utf-8")
    return path


def command(file: Path, *more: str):
    return CliRunner().invoke(main, ["measures", str(file), "--model", "scratch", *more])


def test_a_run_that_was_stopped_goes_on_and_gives_the_same_bytes(file, monkeypatch):
    out, part = file.with_name("mine-measures.csv"), file.with_name("mine-measures.csv.part")
    assert command(file).exit_code == 0
    whole = out.read_bytes()
    answered = []

    def stop_at_the_second(question):
        answered.append(question)
        if len(answered) == 2:
            raise KeyboardInterrupt
        return sources.ask(question).result(60)

    monkeypatch.setattr(corpus, "answer_to", stop_at_the_second)
    out.unlink()
    assert command(file).exit_code != 0 and part.exists() and not out.exists()
    monkeypatch.setattr(corpus, "answer_to", lambda question: answered.append(question)
                        or sources.ask(question).result(60))
    again = command(file)
    assert again.exit_code == 0 and out.read_bytes() == whole and not part.exists()
    assert "; 8 of them were read in an earlier run" in again.output
    assert [len(each.texts) for each in answered] == [8, 3, 3]


def test_the_output_may_not_be_the_input_by_any_name(file, monkeypatch):
    content, link, hard = file.read_bytes(), file.with_name("link.csv"), file.with_name("hard.csv")
    link.symlink_to(file)
    os.link(file, hard)
    part = file.with_name("out.part")   # what is kept of a run that is stopped
    part.symlink_to(file)
    monkeypatch.chdir(file.parent)
    for out in (file, Path(file.name), Path("..") / file.parent.name / file.name, link, hard, file.with_name("out")):
        refused = command(file, "--out", str(out))
        assert refused.exit_code == 2 and "is the file that is read" in refused.stderr
        assert file.read_bytes() == content and link.is_symlink()


def test_a_table_that_cannot_be_written_leaves_the_older_one(file):
    out = file.with_name("mine-measures.csv")
    out.write_bytes(b"older")
    refused = on_a_full_disk(lambda: run_here(file))
    assert "mine-measures.csv could not be written, as files may not be so large there" in refused
    assert out.read_bytes() == b"older" and sorted(path.name for path in file.parent.iterdir()) == [out.name, file.name]


def run_here(file: Path) -> str:
    """What the command says, without a thread of its own, which a child has none of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "answer_to", lambda question: question.answer(models, quiet))
        return command(file).output


def test_what_another_run_left_is_not_taken_for_ones_own(file):
    part = file.with_name("mine-measures.csv.part")
    part.write_text("not ours", encoding="utf-8")
    refused = command(file)
    assert refused.exit_code == 2 and "delete it" in refused.output
    part.write_text("[" * 100_000, encoding="utf-8")
    assert "delete it" in command(file).stderr
    part.write_text(json.dumps({"model": "scratch", "revision": "another", "asked_kind": None, "field": "text",
                                "file": "mine.txt", "sha256": "0",
                                "found": {}}), encoding="utf-8")
    assert command(file).exit_code == 0
    one = averages_of(fabricate.record(7), Kind.SELF)   # another model's heads under this one's name
    named = {"model": "scratch", "revision": sources.revision("scratch"), "asked_kind": None, "field": "text",
             "file": "mine.txt", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    part.write_text(json.dumps(named | {"found": as_object(one)}), encoding="utf-8")
    refused = command(file)
    assert refused.exit_code == 2 and "delete it" in refused.stderr


def test_the_csv_holds_the_averages_of_every_head(file):
    assert command(file, "--kind", "self").exit_code == 0
    rows = list(csv.DictReader(io.StringIO(file.with_name("mine-measures.csv").read_text(encoding="utf-8"),
                                           newline="")))
    asked = TextsQuery("scratch", sources.revision("scratch"), Kind.SELF, tuple(enumerate(SENTENCES)))
    found = sources.ask(asked).result(60)
    assert [(int(row["layer"]), int(row["head"])) for row in rows] == list(found.heads)
    assert rows[0]["texts"] == str(len(SENTENCES))
    for name in ("entropy", "fit_even", "fit_equal"):   # "same token elsewhere": not every text has room for it
        line = found.names.index(name)
        assert [float(row[f"{name}_mean"]) for row in rows] == pytest.approx(list(found.mean[line]), abs=1e-12)
        assert [int(row[f"{name}_n"]) for row in rows] == found.count[line].tolist()
        assert [float(row[f"{name}_sd"]) for row in rows] == pytest.approx(list(found.spread[line]), abs=1e-9)
    for row in rows:
        assert row["fit_n"] == row[f"fit_{row['pattern']}_n"]
    assert 0 < int(rows[0]["fit_equal_n"]) < int(rows[0]["fit_even_n"]) == len(SENTENCES)
    assert json.loads(rows[0]["provenance"])["model"] == "scratch" and rows[1]["provenance"] == ""
    assert as_csv(found, {}).startswith("layer,head,texts,pattern,fit,")


def test_a_hostile_file_is_one_sentence_on_the_command_line(file):
    file.write_bytes(b"fine\n\xff\n")
    refused = command(file)
    assert refused.exit_code == 2
    assert refused.output.strip() == "Error: mine.txt, line 2: byte 1 (0xFF) is not UTF-8; save the file as UTF-8."
