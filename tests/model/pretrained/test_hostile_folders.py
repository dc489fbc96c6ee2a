"""Folders of strangers: whatever stands in a configuration, a tokenizer or the header of weights, the model opens or
one sentence says what is wrong."""
import json
import shutil
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.ask import sources
from model.core.query import UserError
from model.pretrained import damage, files
from tests.hostile import JSON, changed, damaged, examples
from tests.model import tiny


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return tiny.save(tmp_path_factory.mktemp("good") / "mine", "llama")


NAMES = ("config.json", "tokenizer.json", "tokenizer_config.json")


def sentence(error: UserError) -> bool:
    return "\n" not in str(error) and str(error).endswith(".") and len(str(error)) < 900


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_file_of_json_opens_or_is_one_sentence(name, good, tmp_path):
    whole = (good / name).read_bytes()

    @examples(12)
    @given(changed(json.loads(whole)).map(lambda other: json.dumps(other).encode()) | damaged(whole))
    def check(content):
        folder = tmp_path / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        (folder / name).write_bytes(content)
        try:
            answer = sources.ask(sources.open_query(str(folder), "the cat sat")).result(60)
        except UserError as error:
            assert sentence(error), str(error)
        else:
            assert len(answer.maps) == 1

    check()


@examples(400)
@given(data=st.data())
def test_any_json_in_a_folder_is_within_the_limits_or_one_sentence(data, good, tmp_path):
    name = data.draw(st.sampled_from(NAMES))
    document = json.loads((good / name).read_bytes()) | {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
        {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"},
        {"type": "Precompiled", "precompiled_charsmap": "AAAAAGEA"}]}}
    for other in NAMES:
        (tmp_path / other).unlink(missing_ok=True)
    (tmp_path / name).write_text(json.dumps(data.draw(changed(document) | JSON)), encoding="utf-8")
    try:
        damage.check_folder(tmp_path)
    except UserError as error:
        assert sentence(error) and name in str(error) and "CLEARHEAD_" in str(error), str(error)


@examples(300)
@given(data=st.data())
def test_any_header_of_weights_is_read_or_one_sentence(data, tmp_path):
    entries = {"__metadata__": {"format": "pt"}, "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
               "b": {"dtype": "I8", "shape": [4], "data_offsets": [16, 20]}}
    header = json.dumps(data.draw(changed(entries) | st.just(entries))).encode()
    whole = struct.pack("<Q", len(header)) + header + bytes(20)
    (tmp_path / "model.safetensors").write_bytes(data.draw(st.just(whole) | damaged(whole)))
    try:
        assert files.weights_of(tmp_path).parameters >= 0
    except UserError as error:
        assert sentence(error) and "model.safetensors" in str(error)


@examples(200)
@given(data=st.data())
def test_any_index_of_weights_is_read_or_one_sentence(data, tmp_path):
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(data.draw(changed(index))), encoding="utf-8")
    try:
        files.weights_of(tmp_path)
    except UserError as error:
        assert sentence(error), str(error)


@pytest.mark.parametrize("name", ["a\nb", "```\nx\n```", "w" * 5_000, "", "\0", "../a", "a\u2028b"])
def test_a_name_in_an_index_that_no_file_has_is_refused_in_one_sentence(name, tmp_path):
    index = {"weight_map": {"a": name}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(UserError, match="weights must lie beside it") as error:
        files.weights_of(tmp_path)
    assert sentence(error.value)


@pytest.mark.parametrize("ends", ["[0, 1e400]", "[-1e400, 4]", "[0, NaN]", "[0, 4.5]", "[0]", '"x"', "null"])
def test_offsets_that_are_no_whole_numbers_are_a_damaged_file(ends, tmp_path):
    header = f'{{"a": {{"dtype": "F32", "shape": [1], "data_offsets": {ends}}}}}'.encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(5))
    with pytest.raises(UserError, match="cut off or damaged"):
        files.weights_of(tmp_path)
