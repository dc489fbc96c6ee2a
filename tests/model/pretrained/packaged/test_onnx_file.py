"""The reader of ONNX files: what it reads, and that it believes no damaged file."""
import numpy as np
import pytest

from model.core.limits import Limits
from model.core.query import UserError
from model.pretrained import packaged
from model.pretrained.packaged import Node, read_graph
from tests.model.onnx_writer import field, model, node, tensor, varint

TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)
GRAPH = tensor("table", TABLE) + node("/layer/MatMul", "MatMul", "in", "table")


@pytest.fixture
def read(tmp_path):
    def read(content):
        path = tmp_path / "file.onnx"
        path.write_bytes(content)
        return read_graph(path)
    return read


def test_tensors_and_nodes_are_read_by_name(read):
    found = read(model(GRAPH))
    assert found.nodes == (Node("/layer/MatMul", "MatMul", ("in", "table")),)
    assert list(found.tensors) == ["table"] and np.array_equal(found.tensors["table"], TABLE)


def test_what_is_not_needed_is_passed_over(read):
    whole_numbers = field(5, field(1, 2) + field(2, 7) + field(8, "shape") + field(9, bytes(16)))
    others = field(2, "a name") + varint(15 << 3 | 5) + bytes(4) + varint(14 << 3 | 1) + bytes(8)
    assert list(read(model(others + whole_numbers + GRAPH)).tensors) == ["table"]


@pytest.mark.parametrize("cut", range(len(model(GRAPH))))
def test_a_file_that_is_cut_off_gives_no_graph_or_the_whole_one(read, cut):
    try:
        found = read(model(GRAPH)[:cut])
    except UserError as error:
        assert "cut off or no ONNX file" in str(error)
    else:
        assert list(found.tensors) == ["table"] and len(found.nodes) == 1


@pytest.mark.parametrize(("content", "said"), [
    (b"", "empty"), (b"\xff" * 40, "does not end"), (varint(1 << 3 | 3), "unknown type 3"),
    (field(1, 7), "holds 0 graphs"), (field(7, b"") * 2, "holds 2 graphs"), (varint(7 << 3 | 2) + varint(9), "behind"),
    (model(field(5, field(1, 2**40) + field(2, 1) + field(8, "big") + field(9, bytes(8)))), "other sizes"),
    (model(field(5, field(1, 1) * 9 + field(2, 1) + field(8, "deep") + field(9, bytes(4)))), "other sizes"),
    (model(GRAPH + GRAPH), "two tensors table"), (model(field(1, field(3, b"\xff\xfe"))), "decode")])
def test_damage_is_said_in_one_sentence(read, content, said):
    with pytest.raises(UserError, match=rf"file\.onnx is cut off or no ONNX file \(.*{said}"):
        read(content)


def test_there_is_a_limit(read, monkeypatch):
    monkeypatch.setattr(packaged, "LIMITS", Limits(tensors=1))
    with pytest.raises(UserError, match="the limit is 1; choose another file"):
        read(model(GRAPH))
