"""messages.js reads what messages.py packs."""
import math

import numpy as np

from viz.components.messages import pack, range_codes

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
