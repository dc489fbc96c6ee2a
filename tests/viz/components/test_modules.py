"""JavaScript modules: every function that a *.test.js exports, and numbers that equal those of Python."""
import math
import re
from pathlib import Path

import numpy as np
import pytest

from clearhead.model.lessons import head_steps
from clearhead.viz.components import bundle
from clearhead.viz.components.files import FOLDER
from clearhead.viz.components.messages import pack, range_codes, root_codes, signed_codes
from clearhead.viz.style.numbers import format_signed, format_weight

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


READ = """({ unpack }, bytes, offset) => {
    const shifted = new Uint8Array(bytes.length + offset);
    shifted.set(bytes, offset);
    const { sections, ...read } = unpack(shifted.subarray(offset));
    const plain = ({ values, shape }) => [values.constructor.name, [...values], shape];
    for (const [name] of sections) read[name] = plain(read[name]);
    return read;
}"""


def test_header_and_arrays_arrive_wherever_the_message_lies(run_module):
    message = pack({"room": "r", "text": "é⇄"}, {"small": np.array([[1, 2, 255]], np.uint8),
                                                 "codes": np.array([0, 65535], np.uint16),
                                                 "numbers": np.array([[0.5], [-2]], np.float32)})
    read = {"room": "r", "text": "é⇄", "small": ["Uint8Array", [1, 2, 255], [1, 3]],
            "codes": ["Uint16Array", [0, 65535], [2]], "numbers": ["Float32Array", [0.5, -2], [2, 1]]}
    for offset in (0, 1, 3):
        assert run_module("js/messages.js", READ, list(message), offset) == read


def test_code_equals_the_packed_number(run_module):
    codes, low, high = range_codes(np.array([-1, 3, 0.25, np.nan], np.float32))
    found = run_module("js/messages.js", "({ number }, codes, low, high) => codes.map((c) => number(c, low, high))",
                       codes.tolist(), low, high)
    assert found[:2] == [-1, 3] and abs(found[2] - 0.25) < 1e-4 and math.isnan(found[3])


def test_header_is_read_without_its_arrays(run_module):
    message = pack({"room": "strip"}, {"cells": np.zeros(7, np.uint8)})
    head = run_module("js/messages.js", "({ header }, bytes) => header(Uint8Array.from(bytes))", list(message))
    assert head == {"room": "strip", "sections": [["cells", "uint8", 0, [7]]]}


NUMBERS = [0, 0.1234, 0.0001, 0.0005, 0.001234, 2, 0.5, -0.25, 12.34, 10, 123.4, 100, 0.0625, 3.1875, -0.3125, 3e-12]
# exact ties, and numbers that are ties only as written
TIES = [0.125, 0.375, -0.625, 2.5, 1.005, 1.015, -2.675, 0.285, 0.145]


def test_numbers_are_written_as_in_python(run_module):
    found = run_module("js/shared.js", "({ figure }, values) => values.map(figure)", NUMBERS)
    assert found == [format_weight(value) for value in NUMBERS]
    assert [format_weight(value) for value in (0.1234, 0.0001, -0.25)] == ["0.123", "1.0e-04", "−0.250"]


def test_ties_are_rounded_as_in_python(run_module):
    code = "({ fixed }, values) => values.map((value) => [0, 1, 2].map((digits) => fixed(value, digits)))"
    assert run_module("js/shared.js", code, TIES) == [
        [format_signed(value, f".{digits}f") for digits in range(3)] for value in TIES]


RNG = np.random.default_rng(3)
CASES = [np.round(RNG.uniform(-3, 3, (9, 2)), 2) for _ in range(20)]
CASES += [np.zeros((9, 2)), np.full((9, 2), 3.0), np.vstack([[[3, 3]], 3 * np.eye(2)[[0, 1, 0, 1]], -np.ones((4, 2))])]


def test_weights_and_mix_equal_plain_python(run_module):
    found = run_module("arrows/attention.js", """({ attend }, cases) => cases.map(([query, ...rest]) =>
        attend(query, rest.slice(0, 4), rest.slice(4)))""",
                       [case.tolist() for case in CASES])
    for case, browser in zip(CASES, found, strict=True):
        row = head_steps.attend(case[0], case[1:5], case[5:])
        for name in ("dots", "scores", "weights", "mix"):
            assert browser[name] == pytest.approx(getattr(row, name), abs=1e-12)


def test_weights_and_differences_are_restored(run_module):
    weights = [0, 1e-6, 0.25, 0.5, 1]
    found = run_module("head_view/codes.js", "({ valueOf }, codes) => codes.map((code) => valueOf(code))",
                       root_codes(np.array(weights, np.float32)).tolist())
    assert found == pytest.approx(weights, abs=2e-5) and (found[0], found[-1]) == (0, 1)
    codes = signed_codes(np.array([-2, 0, 1, 2, np.nan], np.float32), 2.0).tolist()
    found = run_module("head_view/codes.js", "({ valueOf }, codes) => codes.map((code) => valueOf(code, 2))", codes)
    assert found[:4] == [-2, 0, 1, 2] and math.isnan(found[4])


def test_bundle_reads_every_import_and_export():
    for path in bundle.FOLDER.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert len(bundle.IMPORT.findall(text)) == len(re.findall(r"^import\b", text, re.MULTILINE)), path
        assert len(bundle.EXPORT.findall(text)) == len(re.findall(r"^export\b", text, re.MULTILINE)), path
        assert not re.search(r"^import [^;]*\bas\b", text, re.MULTILINE), path


def test_bundle_runs_and_returns_module_exports(browser):
    page = browser.new_page()
    text = bundle.script("head_grid/layout.js", "js/messages.js")
    found = page.evaluate(f"""() => {{ {text}
        return [modules["head_grid/layout.js"].groupGap(4, 9), modules["js/messages.js"].number(65534, 0, 2)]; }}""")
    page.close()
    assert found == [8, 2]
