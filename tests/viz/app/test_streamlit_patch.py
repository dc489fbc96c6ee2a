"""The patches of Streamlit: each fault still exists, and its patch fixes it."""
import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import MagicMock

from streamlit import net_util
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState, WStates
from streamlit.web.server import server_util

from clearhead.model.core.query import UserError
from clearhead.viz.app import streamlit_patch


def message(path: list[int], what: str, part: str = "part") -> ForwardMsg:
    made = ForwardMsg()
    made.metadata.delta_path.extend(path)
    if what == "known":
        made.ref_hash = "hash of a large element"
    else:
        made.delta.fragment_id = part
        (made.delta.add_block if what == "block" else made.delta.new_element.markdown).SetInParent()
    return made


def test_no_message_targets_a_dropped_block(monkeypatch):
    monkeypatch.setattr(ForwardMsgQueue, "clear", inspect.unwrap(ForwardMsgQueue.clear))   # put back after the test
    first = [message([0, 7], "block"), message([0, 7, 0], "known"), message([0, 7, 1], "words"),
             message([0, 7, 2, 0], "block", "a part within it")]
    again = [message([0, 7], "block"), message([0, 7, 0], "known")]

    def sent() -> list[ForwardMsg]:
        queue = ForwardMsgQueue()
        for each in first:
            queue.enqueue(each)
        queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["part"])
        for each in again:
            queue.enqueue(each)
        return queue.flush()

    assert sent() != first + again, "Streamlit keeps the order by itself: keep_order is needed no more"
    streamlit_patch.keep_order()
    streamlit_patch.keep_order()
    assert sent() == first + again
    queue = ForwardMsgQueue()
    queue.enqueue(first[0])
    queue.clear(retain_lifecycle_msgs=True)   # a run of the page sends all of it anew
    assert queue.is_empty()


def heard(stopped: bool) -> list[str]:
    """Return which messages reach a browser: of a runner that ended or was stopped, and of the next one."""
    async def talk() -> list[str]:
        session, said = MagicMock(), []
        session._event_loop, session._scriptrunner = asyncio.get_running_loop(), None
        session._script_event_loop.is_closed.return_value = False
        session._enqueue_forward_msg = lambda each: said.append(each.ref_hash)
        AppSession._create_scriptrunner(session, RerunData())
        former, tells = session._scriptrunner, AppSession._handle_scriptrunner_event_on_event_loop
        if stopped:
            session._scriptrunner = None   # as AppSession.request_rerun has it
        AppSession._create_scriptrunner(session, RerunData(fragment_id="part"))
        assert session._scriptrunner is not former
        for runner, what in ((former, "former"), (session._scriptrunner, "next"), (MagicMock(), "strange")):
            tells(session, runner, ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ForwardMsg(ref_hash=what))
        tells(session, former, ScriptRunnerEvent.SHUTDOWN)
        assert session._scriptrunner is not None, "the end of the former one is not the next one's"
        return said

    with ThreadPoolExecutor(1) as pool:   # a thread of its own: this one may have a loop already, a browser's
        return pool.submit(lambda: asyncio.run(talk())).result()


def test_last_messages_of_an_ended_run_are_delivered(monkeypatch):
    for name in ("_create_scriptrunner", "_handle_scriptrunner_event_on_event_loop"):
        monkeypatch.setattr(AppSession, name, inspect.unwrap(getattr(AppSession, name)))   # put back after the test
    monkeypatch.setattr(app_session, "ScriptRunner", lambda **given: MagicMock())
    assert heard(stopped=False) == ["next"], "Streamlit hears it by itself: hear_out is needed no more"
    streamlit_patch.hear_out()
    streamlit_patch.hear_out()
    assert heard(stopped=False) == ["former", "next"] and heard(stopped=True) == ["next"]


def is_heard(monkeypatch) -> bool:
    """Return whether a button's callback is called if an event of another run arrives just before."""
    state, heard = SessionState(), []
    first, second = (SafeSessionState(state, lambda: None) for _ in range(2))
    first.register_widget(WidgetMetadata("button", bool, bool, "trigger_value"), None)
    other = threading.Thread(target=second.on_script_will_rerun, args=(WidgetStates(),))

    def called(_: SessionState, **given: object) -> None:
        if threading.current_thread() is not other:
            other.start()
            other.join(0.3)   # s; with a lock in common it waits for this one
            heard.append(state["button"])

    with monkeypatch.context() as patch:
        patch.setattr(SessionState, "_call_callbacks", called)
        first.on_script_will_rerun(WidgetStates(widgets=[WidgetState(id="button", trigger_value=True)]))
        other.join()
    return heard[0]


def test_click_is_handled_with_any_other_changes(monkeypatch):
    monkeypatch.setattr(SafeSessionState, "__init__", inspect.unwrap(SafeSessionState.__init__))
    assert not is_heard(monkeypatch), "Streamlit hears it by itself: take_turns is needed no more"
    streamlit_patch.take_turns()
    streamlit_patch.take_turns()
    assert is_heard(monkeypatch)


def undone(monkeypatch) -> list[list[str]]:
    """Return the widgets whose callbacks are called for each event: a button that replaces a text, the same before the
    browser has drawn the new text, and the former text, typed."""
    state, called = SessionState(), []
    shared = SafeSessionState(state, lambda: None)
    for widget, made, kind in (("text", str, "string_value"), ("button", bool, "trigger_value")):
        shared.register_widget(WidgetMetadata(widget, lambda value, made=made: made(value or ""), made, kind,
                                              callback=lambda: None), widget)
    monkeypatch.setattr(WStates, "call_callback", lambda states, widget: called[-1].append(widget))
    for pressed in (True, True, False):
        called.append([])
        shared.on_script_will_rerun(WidgetStates(widgets=[WidgetState(id="text", string_value="former"),
                                                          WidgetState(id="button", trigger_value=pressed)]))
        shared["text"] = "new"
    return called


def test_click_is_not_undone_by_a_text_that_it_replaced(monkeypatch):
    monkeypatch.setattr(SessionState, "_call_callbacks", inspect.unwrap(SessionState._call_callbacks))
    assert undone(monkeypatch)[1] == ["text", "button"], "Streamlit knows it by itself: tell_repeated is needed no more"
    streamlit_patch.tell_repeated()
    streamlit_patch.tell_repeated()
    assert undone(monkeypatch) == [["text", "button"], ["button"], ["text"]]


def test_foreign_origin_sends_no_request_out(monkeypatch):
    asked = []
    monkeypatch.setattr(net_util, "get_external_ip", lambda: asked.append(1))
    server_util.is_url_from_allowed_origins("http://evil.example")
    assert asked   # the part of Streamlit that asked, by the name that is replaced
    streamlit_patch.ask_no_stranger()
    assert server_util.is_url_from_allowed_origins("http://evil.example") is False and len(asked) == 1


def _download(make, monkeypatch, patched: bool) -> str:
    """Return the browser's message for a download that `make` creates."""
    handle = inspect.unwrap(DeferredFileHandler.handle)   # maybe patched
    monkeypatch.setattr(DeferredFileHandler, "handle", handle)   # put back afterwards
    if patched:
        streamlit_patch.say_why()
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    handler = DeferredFileHandler(lambda: files)
    request = BackendOperationRequest(request_id="1")
    request.deferred_file.file_id = files.add_deferred(make, None, "0.0")
    with ThreadPoolExecutor(1) as pool:   # this thread may run a browser's loop already
        return pool.submit(lambda: asyncio.run(handler.handle(request, "session"))).result().error_msg


def test_impossible_download_says_why(monkeypatch):
    def refuse() -> bytes:
        raise UserError("One PDF is being printed.")

    assert _download(refuse, monkeypatch, patched=False) == "Failed to generate file for download", "no need any more"
    assert _download(refuse, monkeypatch, patched=True) == "One PDF is being printed."
