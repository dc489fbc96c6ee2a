"""The limits: their settings, and the sentence of what exceeds one."""
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest

from model.core.limits import LIMITS, MB, Limits, as_rows, from_environment, setting_of
from model.core.query import UserError


def test_settings_change_their_limit_and_no_other():
    changed = from_environment({"CLEARHEAD_IMPORT_MB": "0.5", "CLEARHEAD_HEADS": " 7 ", "CLEARHEAD_LONGEST_WAIT": "2.5",
                                "CLEARHEAD_TRAININGS": "0", "CLEARHEAD_DEPTH": ""})
    assert (changed.import_bytes, changed.heads, changed.longest_wait, changed.trainings) == (MB // 2, 7, 2.5, 0)
    others = {each.name for each in fields(Limits)} - {"import_bytes", "heads", "longest_wait", "trainings"}
    assert all(getattr(changed, name) == getattr(Limits(), name) for name in others)


def test_settings_that_were_there_have_their_names():
    names = {setting_of(each.name) for each in fields(Limits)}
    assert {f"CLEARHEAD_{name}" for name in ("IMPORT_MB", "LONGEST_TEXT", "LONGEST_WAIT", "TRAININGS", "MEASURE_MB",
                                             "CACHE_MB", "MODELS_MB", "FILE_MB", "SESSION_MB", "TOTAL_MB")} <= names
    assert len(names) == len(fields(Limits))


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "0", "1e400", "9" * 5000, "1,5", "٣x", "2.5"])
def test_a_setting_that_is_no_number_is_one_sentence(text):
    with pytest.raises(UserError, match=r"^CLEARHEAD_HEADS is .* must be a whole number of heads from 1 up; [^\n]*\.$"):
        from_environment({"CLEARHEAD_HEADS": text})


def test_a_bad_setting_ends_the_process_with_its_sentence():
    ended = subprocess.run([sys.executable, "-c", "import model.core.limits"], capture_output=True, encoding="utf-8",
                           env=os.environ | {"CLEARHEAD_IMPORT_MB": "many"}, timeout=60)
    assert ended.returncode == 2 and ended.stderr.startswith("Error: CLEARHEAD_IMPORT_MB is 'many'")
    assert ended.stderr.count("\n") == 1 and not ended.stdout


def test_what_exceeds_says_which_limit_its_value_and_its_setting():
    Limits(heads=5).refuse_above("heads", 5, "mine.npz", "save fewer layers")
    with pytest.raises(UserError) as refused:
        Limits(heads=5_000).refuse_above("heads", 8_000_000, "mine.npz", "save fewer layers")
    assert str(refused.value) == ("mine.npz has 8,000,000 heads and the limit is 5,000; save fewer layers, or set "
                                  "CLEARHEAD_HEADS higher.")
    with pytest.raises(UserError, match=r"has 1\.01 MB and the limit is 1 MB; x, or set CLEARHEAD_FILE_MB higher\.$"):
        Limits(file_bytes=MB).refuse_above("file_bytes", MB + 1, "mine.npz", "x")


def test_nobody_changes_them_and_every_row_is_whole():
    with pytest.raises(FrozenInstanceError):
        LIMITS.heads = 1
    for row, each in zip(as_rows(Limits(import_bytes=3 * MB)), fields(Limits), strict=True):
        assert row["name"] == each.name and row["of"] and row["unit"] and row["default"] > 0
    assert {"name": "import_bytes", "value": 3, "unit": "MB", "setting": "CLEARHEAD_IMPORT_MB", "default": 256,
            "of": "the weights in one imported file, 4 bytes a cell"} in as_rows(Limits(import_bytes=3 * MB))
