"""What Clearhead needs of Streamlit that is not public, all of it: three faults mended, of which two are in what it
sends to a browser and one in what it hears; whether a run answers the browser's Back; the types of what st.container
and st.Page return; the browser that opens on somebody's own machine; and for a server the options, uploads and logs
that have to be bounded."""
import asyncio
import functools
import importlib
import inspect
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from streamlit import cli_util, config, logger, net_util
from streamlit.delta_generator import DeltaGenerator as DeltaGenerator
from streamlit.navigation.page import StreamlitPage as StreamlitPage
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse, DeferredFileResponsePayload
from streamlit.runtime import runtime_util
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec
from streamlit.web.server import server_util

from model.core.query import UserError

RECORD = 2048   # bytes that Streamlit takes for an uploaded file beside its content


def _replaces(owner: type, name: str) -> Callable[[Callable[..., object]], None]:
    """Put a function in the place of a method, once for all; it gets the method before the method's own arguments."""
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
    """Has a fragment that runs again send what its last run left unsent before what is new.

    Streamlit 1.67 drops those messages (ForwardMsgQueue.clear), but keeps among them the references to what a browser
    has already, as they do not say which fragment they are of, and the messages of fragments within it, as they are of
    another. They then come to places that the browser does not have, and the whole page ends with "Bad delta path" or
    "Cannot set a node at a delta path": on a busy machine within a minute, where a fragment runs every second. """
    @_replaces(ForwardMsgQueue, "clear")
    def cleared(clear: Callable[..., object], queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False,
                fragment_ids_this_run: list[str] | None = None) -> None:
        if retain_lifecycle_msgs and fragment_ids_this_run:
            queue._delta_index_map = {}   # what is new comes after it, never in its place
        else:
            clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)


def hear_out() -> None:
    """Has a session pass on what a run that came to its end still has to say when the next one begins.

    Streamlit 1.67 takes a new runner for a fragment that is asked for once the former runner has ended, and from then
    on ignores that one's messages, those too that wait in the event loop: a page that was just drawn would never come
    to its browser, and the new run's elements at places that are not there ("Bad delta path"). A runner that was told
    to stop stays unheard, as the whole page runs again after it. """
    ended: WeakKeyDictionary[AppSession, ScriptRunner | None] = WeakKeyDictionary()

    @_replaces(AppSession, "_create_scriptrunner")
    def created(create: Callable[..., object], session: AppSession, data: RerunData) -> None:
        ended[session] = session._scriptrunner   # None where it was told to stop
        create(session, data)

    @_replaces(AppSession, "_handle_scriptrunner_event_on_event_loop")
    def handled(handle: Callable[..., object], session: AppSession, sender: ScriptRunner | None,
                event: ScriptRunnerEvent, *said: object) -> None:
        if sender is not None and sender is ended.get(session) and event is not ScriptRunnerEvent.SHUTDOWN:
            sender = session._scriptrunner
        handle(session, sender, event, *said)


def take_turns() -> None:
    """Has the runs of one session change its state one after the other.

    Streamlit 1.67 begins to run the page for a click while a former run still begins or ends, and each run has a lock
    of its own round the state that both change. Where two events arrive together, as they do on a busy machine, the
    first one's run can take the click for handled before its callback was called: whoever clicked is not answered. """
    # by the address of the state, for as long as a run holds both; it has no room for a lock of its own
    locks: WeakValueDictionary[int, Any] = WeakValueDictionary()

    @_replaces(SafeSessionState, "__init__")
    def begun(begin: Callable[..., object], shared: SafeSessionState, state: SessionState, *given: object,
              **named: object) -> None:
        begin(shared, state, *given, **named)
        object.__setattr__(shared, "_lock", locks.setdefault(id(state), threading.RLock()))


def read_ahead() -> None:
    """Has Streamlit read, while a browser still loads, what a page's first run would wait half a second each for: its
    pattern of all emoji, Pillow, and where each module's source is, by which it finds out that it is not in a shell."""
    for name in ("streamlit.emojis", "streamlit.elements.lib.image_utils"):
        importlib.import_module(name)
    inspect.stack()


def went_back() -> bool:
    """Return whether this run answers the browser's Back or Forward
    (https://github.com/streamlit/streamlit/pull/16989), so that st.query_params says where it went."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def open_browser() -> None:
    """Open this server's page in a browser of this machine, as Streamlit does for any script."""
    cli_util.open_browser(server_util.get_url("localhost"))


def flag(name: str) -> Any:
    """Return an option of Streamlit's as the command line or its variable set it; None where neither did."""
    by_flag = config.get_where_defined(name) == config._DEFINED_BY_FLAG
    return config.get_option(name) if by_flag else None


def hold_options(options: Mapping[str, object]) -> dict[str, object]:
    """Set options, now and whenever Streamlit reads its configuration again, as it does when a file of it changes;
    returns what is in force. `streamlit run` reads its configuration before the script, and st.set_option takes none of
    the server's."""
    def put() -> None:
        for name, value in options.items():
            config.set_option(name, value)

    config.on_config_parsed(put, force_connect=True)
    put()
    runtime_util._max_widget_state_size_bytes = None   # it is read once
    in_force = {name: config.get_option(name) for name in options}
    if "server.maxWidgetStateSize" in in_force:
        in_force["server.maxWidgetStateSize"] = runtime_util.get_max_widget_state_size_bytes() / 1e6
    return in_force


def bound_uploads(session_bytes: int, total_bytes: int) -> None:
    """Has Streamlit keep so much of uploaded files for one session and for all of them, and drop the oldest first; it
    would keep all until their session ends."""
    arrived: OrderedDict[tuple[str, str], int] = OrderedDict()   # bytes by session and file, the oldest first

    @_replaces(MemoryUploadedFileManager, "add_file")
    def added(add: Callable[..., object], files: MemoryUploadedFileManager, session_id: str,
              file: UploadedFileRec) -> None:
        add(files, session_id, file)
        with files._lock:
            there = {(session, each) for session, some in files.file_storage.items() for each in some}
            for gone in [key for key in arrived if key not in there]:
                del arrived[gone]
            arrived[session_id, file.file_id] = len(file.data) + RECORD
            arrived.move_to_end((session_id, file.file_id))
            drop = oldest_beyond(arrived, session_id, session_bytes, total_bytes)
        for session, each in drop:
            files.remove_file(session, each)


def oldest_beyond(sizes: Mapping[tuple[str, str], int], session: str, session_bytes: int,
                  total_bytes: int) -> list[tuple[str, str]]:
    """Return what has to go, the oldest first, so that a session and all together hold no more than they may. sizes: by
    (session, file), the oldest first."""
    own, total, drop = sum(size for key, size in sizes.items() if key[0] == session), sum(sizes.values()), []
    for key, size in sizes.items():
        if total > total_bytes or (own > session_bytes and key[0] == session):
            drop.append(key)
            total -= size
            own -= size if key[0] == session else 0
    return drop


def forget_upload(file: UploadedFile) -> None:
    """Drop Streamlit's copies of an uploaded file that has been read; its place shows the name on."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.seek(0)
    file.truncate()


def is_dropped(file: object) -> bool:
    """Return whether the value of a file uploader in st.session_state says that the file is no longer there."""
    return isinstance(file, DeletedFile)


def log_through(handler: logging.Handler) -> None:
    """Has everything that is logged in this process, now and later, go through one handler. Streamlit gives each of its
    modules a handler of its own."""
    def join(each: logging.Logger) -> None:
        for own in list(each.handlers):
            each.removeHandler(own)
        each.propagate = True

    logger.setup_formatter = join
    for each in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(each, logging.Logger):
            join(each)
    logging.root.addHandler(handler)


def say_why() -> None:
    """Has a download that cannot be made say why: Streamlit 1.67 says "Failed to generate file for download" of each,
    and logs a traceback."""
    @_replaces(DeferredFileHandler, "handle")
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
    """Keep Streamlit from asking checkip.amazonaws.com for this machine's address: it does so for every request with
    another page's Origin, for up to two seconds in which the server answers nobody."""
    net_util.get_external_ip = lambda: None
