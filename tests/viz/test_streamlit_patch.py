"""What is not public of Streamlit, part by part: each is there under its name, and what a server has not sent yet when
a fragment runs again."""
import importlib

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from viz.streamlit_patch import keep_order


@pytest.mark.parametrize(("module", "name"), [
    ("streamlit.runtime.forward_msg_queue", "ForwardMsgQueue.clear"),
    ("streamlit.delta_generator", "DeltaGenerator"), ("streamlit.navigation.page", "StreamlitPage"),
    ("streamlit.cli_util", "open_browser"), ("streamlit.web.server.server_util", "get_url")])
def test_the_part_is_there(module, name):
    part = importlib.import_module(module)
    for step in name.split("."):
        assert hasattr(part, step), f"{module}.{name} is gone: mend viz/streamlit_patch.py"
        part = getattr(part, step)


def test_the_queue_has_the_table_that_the_patch_empties():
    assert ForwardMsgQueue()._delta_index_map == {}


def message(path: list[int], what: str) -> ForwardMsg:
    made = ForwardMsg()
    made.metadata.delta_path.extend(path)
    if what == "known":
        made.ref_hash = "hash of a large element"
    else:
        made.delta.fragment_id = "part"
        (made.delta.add_block if what == "block" else made.delta.new_element.markdown).SetInParent()
    return made


def test_no_message_comes_to_a_place_whose_block_was_dropped(monkeypatch):
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)   # put back after the test
    first = [message([0, 7], "block"), message([0, 7, 0], "known"), message([0, 7, 1], "words")]
    again = [message([0, 7], "block"), message([0, 7, 0], "known")]

    def sent() -> list[ForwardMsg]:
        queue = ForwardMsgQueue()
        for each in first:
            queue.enqueue(each)
        queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["part"])
        for each in again:
            queue.enqueue(each)
        return queue.flush()

    keep_order()
    keep_order()
    assert sent() == first + again
    queue = ForwardMsgQueue()
    queue.enqueue(first[0])
    queue.clear(retain_lifecycle_msgs=True)   # a run of the page sends all of it anew
    assert queue.is_empty()
