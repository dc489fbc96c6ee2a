"""All uses of Streamlit's private API.

These are: fixes for four faults, two in the messages to a browser and two in those from it; whether a run answers the
browser's Back button; the return types of st.container and st.Page; and opening a browser on the user's own machine.
Those that only a public server needs are in viz/server/streamlit_limits.py.
"""
import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import streamlit as st
from streamlit import cli_util, net_util
from streamlit.delta_generator import DeltaGenerator as DeltaGenerator
from streamlit.navigation.page import StreamlitPage as StreamlitPage
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse, DeferredFileResponsePayload
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequestType
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile
from streamlit.web.server import server_util

from clearhead.model.core.query import UserError


def replaces(owner: type, name: str) -> Callable[[Callable[..., object]], None]:
    """Replace a method permanently with the decorated function, which receives the original method as its first
    argument."""
    def put(function: Callable[..., object]) -> None:
        method = getattr(owner, name)
        if hasattr(method, "__wrapped__"):
            return

        @functools.wraps(method)
        def replaced(*given: object, **named: object) -> object:
            return function(method, *given, **named)

        setattr(owner, name, replaced)
    return put


def keep_order() -> None:
    """Make a rerunning fragment first send the messages left over from its last run.

    Streamlit 1.67 drops those messages (ForwardMsgQueue.clear). It keeps references to elements that the browser
    already has, which do not name their fragment, and messages of nested fragments, which belong to another fragment.
    Both then refer to elements that the browser does not have, and the whole page fails with "Bad delta path" or
    "Cannot set a node at a delta path". On a busy machine, a fragment that runs every second fails within a minute.
    """
    @replaces(ForwardMsgQueue, "clear")
    def cleared(clear: Callable[..., object], queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False,
                fragment_ids_this_run: list[str] | None = None) -> None:
        if retain_lifecycle_msgs and fragment_ids_this_run:
            queue._delta_index_map = {}   # append new messages instead of replacing old ones
        else:
            clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)


def hear_out() -> None:
    """Forward messages that are still queued when a run finishes and the next one begins.

    When a runner has ended, Streamlit 1.67 creates a new one for the requested fragment, and from then on ignores the
    old runner's messages, even those waiting in the event loop. A page just drawn would not reach its browser, and the
    new run's elements would refer to missing ones ("Bad delta path"). The messages of a stopped runner are still
    ignored, because the whole page reruns.
    """
    ended: WeakKeyDictionary[AppSession, ScriptRunner | None] = WeakKeyDictionary()

    @replaces(AppSession, "_create_scriptrunner")
    def created(create: Callable[..., object], session: AppSession, data: RerunData) -> None:
        ended[session] = session._scriptrunner   # None if the runner was stopped
        create(session, data)

    @replaces(AppSession, "_handle_scriptrunner_event_on_event_loop")
    def handled(handle: Callable[..., object], session: AppSession, sender: ScriptRunner | None,
                event: ScriptRunnerEvent, *said: object) -> None:
        if sender is not None and sender is ended.get(session) and event is not ScriptRunnerEvent.SHUTDOWN:
            sender = session._scriptrunner
        handle(session, sender, event, *said)


def take_turns() -> None:
    """Let the runs of a session change its state one at a time.

    Streamlit 1.67 starts a run for a click while the previous run is still starting or ending, and each run has its own
    lock around their shared state. If two events arrive together, as on a busy machine, the first run may mark the
    click as handled before its callback is called, and the click has no effect.
    """
    # locks by the state's id while a run holds it, because the state has no attribute for a lock
    locks: WeakValueDictionary[int, Any] = WeakValueDictionary()

    @replaces(SafeSessionState, "__init__")
    def begun(begin: Callable[..., object], shared: SafeSessionState, state: SessionState, *given: object,
              **named: object) -> None:
        begin(shared, state, *given, **named)
        object.__setattr__(shared, "_lock", locks.setdefault(id(state), threading.RLock()))


SENT = "clearhead-sent"   # in a session's state: the browser's last values, by widget


def tell_repeated() -> None:
    """Call no callback for a value that a browser only repeats.

    A browser sends the values of all widgets with each event. Until it has drawn a value that the app wrote, such as a
    text that a click replaced, it repeats the former one. Streamlit 1.67 takes that for a change by the reader, whose
    callback reverts the click. An event has one cause: if a button or another value explains it, a value that differs
    from the app's but not from the browser's last one is repeated.
    """
    @replaces(SessionState, "_call_callbacks")
    def called(call: Callable[..., object], state: SessionState, **given: object) -> None:
        sent = {each.id: each for each in state._current_interaction_widget_states.widgets}
        before, changed = state._old_state.get(SENT, {}), [*filter(state._widget_changed, sent)]
        repeated = [widget for widget in changed if before.get(widget) == sent[widget]
                    and "trigger" not in str(sent[widget].WhichOneof("value"))]
        if len(repeated) < len(changed):
            state._old_state.update({widget: state._new_widget_state[widget] for widget in repeated})
        state._old_state[SENT] = sent
        call(state, **given)


def went_back() -> bool:
    """Return whether this run answers the browser's Back or Forward button
    (https://github.com/streamlit/streamlit/pull/16989); st.query_params then contains the destination."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def is_written(key: str) -> bool:
    """Return whether the app has written a widget's value in this run, or in one that st.rerun has ended since.
    Streamlit warns if such a widget also has an initial value."""
    context = get_script_run_ctx()
    return context is not None and context.session_state.is_new_state_value(key)


def open_browser() -> None:
    """Open this server's page in a local browser, as Streamlit does for a script."""
    cli_util.open_browser(server_util.get_url("localhost"))


def rerun_for_click() -> None:
    """Rerun the running fragment if a click in it waits. Streamlit lets clicks in fragments wait until a run has ended,
    so a long wait could not be stopped."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None or not context.fragment_ids_this_run:
        return
    requests, running = context.script_requests, set(context.fragment_ids_this_run)
    if requests._state == ScriptRequestType.RERUN and running & {*requests._rerun_data.fragment_id_queue}:
        st.rerun(scope="fragment")


def forget_upload(file: UploadedFile) -> None:
    """Drop Streamlit's copies of an uploaded file that has been read. The uploader still shows its name."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.seek(0)
    file.truncate()


def is_dropped(file: object) -> bool:
    """Return whether a file uploader's value in st.session_state marks a dropped file."""
    return isinstance(file, DeletedFile)


def say_why() -> None:
    """Show why a download failed. Streamlit 1.67 only shows "Failed to generate file for download", and logs a
    traceback."""
    @replaces(DeferredFileHandler, "handle")
    async def answered(handle: Callable[..., object], handler: DeferredFileHandler, request: BackendOperationRequest,
                       session_id: str) -> BackendOperationResponse:
        try:
            url = await asyncio.to_thread(handler._get_media_file_mgr().execute_deferred, request.deferred_file.file_id)
        except MediaFileStorageError as error:
            if not isinstance(error.__cause__, UserError):
                raise
            return BackendOperationResponse(request_id=request.request_id, error_msg=str(error.__cause__))
        return BackendOperationResponse(request_id=request.request_id,
                                        deferred_file=DeferredFileResponsePayload(url=url))


def ask_no_stranger() -> None:
    """Keep Streamlit from asking checkip.amazonaws.com for this machine's IP address. It does so for every request with
    a foreign Origin, and blocks the server for up to two seconds."""
    net_util.get_external_ip = lambda: None
