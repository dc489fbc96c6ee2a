"""Run every function that a *.test.js beside this file exports in its own page; a failing test throws."""
import re
from pathlib import Path

import pytest

from viz.components.files import FOLDER

HERE = Path(__file__).parent
FILES = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.test.js"))
TESTS = [(name, test) for name in FILES
         for test in re.findall(r"^export (?:async )?function (\w+)", (HERE / name).read_text(encoding="utf-8"), re.M)]


@pytest.mark.parametrize(("name", "test"), TESTS)
def test_module(run_module, name, test):
    run_module(name, f"(module) => module.{test}()")


def test_each_test_file_is_beside_its_module():
    assert FILES and [name for name in FILES if not (FOLDER / name.replace(".test.js", ".js")).is_file()] == []


def test_failure_is_seen(run_module):
    with pytest.raises(Exception, match="expected 2, got 1: why"):
        run_module("check.js", '({ equal }) => equal(1, 2, "why")')
