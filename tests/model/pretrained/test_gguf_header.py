"""The header of a GGUF file: what the format's own reader sees, and nothing that the file is too short for."""
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bomb_files import gguf, gguf_entry, with_number
from model.core.query import UserError
from model.pretrained.gguf import convert, read_header, refuse_what_does_not_fit
from tests.hostile import damaged, examples
from tests.model.pretrained.test_gguf import written_gguf


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "good.gguf"
    written_gguf(path)
    return path


def test_its_numbers_are_those_of_the_formats_own_reader(good):
    from gguf import GGUFReader

    reader, header = GGUFReader(good), read_header(good)
    assert header.parameters == sum(int(tensor.n_elements) for tensor in reader.tensors) > 0
    assert header.numbers["llama.block_count"] == 3 and header.numbers["llama.embedding_length"] == 48
    for name, field in reader.fields.items():
        if name in header.numbers:
            value = len(field.data) if len(field.types) > 1 else field.parts[field.data[0]][0]
            assert header.numbers[name] == pytest.approx(value), name
    assert len(header.numbers) > 10


@pytest.mark.parametrize(("content", "said"), [
    (gguf(2**60), "ends within"), (gguf(0, 400_000), "ends within"), (gguf(0, 2**60), "CLEARHEAD_TENSORS"),
    (gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 0, 2**60))), "CLEARHEAD_VOCABULARY"),
    (gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 0, 2**20))), "ends within"),
    (gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 8, 2**20))), "ends within"),
    (gguf(1, 0, gguf_entry("a", 9, struct.pack("<IQ", 9, 1) * 1000)), "CLEARHEAD_DEPTH"),
    (gguf(1, 0, gguf_entry("a", 8, struct.pack("<Q", 2**63))), "ends within"),
    (gguf(1, 0, gguf_entry("a", 77, b"")), "unknown type"), (b"GGUF", "ends within"), (b"PK\3\4" + bytes(50), "begin"),
    (b"GGUF" + struct.pack("<IQQ", 99, 0, 0), "version"),
    (gguf(0, 1, struct.pack("<Q", 1) + b"a" + struct.pack("<I", 2**31) + bytes(99)), "axes")])
def test_counts_that_the_file_does_not_hold_take_nothing(content, said, tmp_path):
    (tmp_path / "x.gguf").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, UserError), match=said):
            read_header(tmp_path / "x.gguf")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "number", "said"), [
    (b"block_count", 10**7, "CLEARHEAD_LAYERS"), (b"embedding_length", 200_000, "describes .* numbers"),
    (b"feed_forward_length", 200_000, "describes .* numbers"), (b"llama.vocab_size", 10**9, "CLEARHEAD_VOCABULARY")])
def test_a_header_that_asks_for_more_than_its_tensors_hold_is_not_converted(name, number, said, tmp_path):
    (tmp_path / "x.gguf").write_bytes(with_number(name, number))
    with pytest.raises(UserError, match=said):
        convert(tmp_path / "x.gguf", tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_the_other_order_of_bytes_is_read_too(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + struct.pack(">Q", 1) + b"a"
                                      + struct.pack(">II", 4, 258))
    assert read_header(tmp_path / "x.gguf").numbers == {"a": 258}


@examples(200)
@given(data=st.data())
def test_any_damage_is_a_header_or_one_sentence(data, good, tmp_path):
    (tmp_path / "x.gguf").write_bytes(data.draw(damaged(good.read_bytes()[:4_000])))
    try:
        assert refuse_what_does_not_fit(tmp_path / "x.gguf") >= 0
    except UserError as error:
        assert "x.gguf" in str(error) and "\n" not in str(error) and str(error).endswith(".")
