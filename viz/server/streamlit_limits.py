"""What only a public server needs of Streamlit's private API: limits on its options and uploads, and one log."""
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from streamlit import config, logger
from streamlit.runtime import runtime_util
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from clearhead.viz.app.streamlit_patch import replaces

RECORD = 2048   # Streamlit's overhead per uploaded file, in bytes


def flag(name: str) -> Any:
    """Return a Streamlit option if it was set on the command line or by an environment variable, else None."""
    by_flag = config.get_where_defined(name) == config._DEFINED_BY_FLAG
    return config.get_option(name) if by_flag else None


def hold_options(options: Mapping[str, object]) -> dict[str, object]:
    """Set options, now and whenever Streamlit rereads its configuration files, and return the values in force. This is
    necessary because `streamlit run` reads its configuration before the script, and st.set_option rejects server
    options."""
    def put() -> None:
        for name, value in options.items():
            config.set_option(name, value)

    config.on_config_parsed(put, force_connect=True)
    put()
    runtime_util._max_widget_state_size_bytes = None   # discard the cached value
    in_force = {name: config.get_option(name) for name in options}
    if "server.maxWidgetStateSize" in in_force:
        in_force["server.maxWidgetStateSize"] = runtime_util.get_max_widget_state_size_bytes() / 1e6
    return in_force


def bound_uploads(session_bytes: int, total_bytes: int) -> None:
    """Limit the uploaded files that Streamlit keeps per session and in total. The oldest are dropped first; without
    limits Streamlit keeps all until their session ends."""
    arrived: OrderedDict[tuple[str, str], int] = OrderedDict()   # {(session, file): bytes}, oldest first

    @replaces(MemoryUploadedFileManager, "add_file")
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
    """Return the files to drop, oldest first, so that the session and the total stay within their limits. sizes:
    {(session, file): bytes}, oldest first."""
    own, total, drop = sum(size for key, size in sizes.items() if key[0] == session), sum(sizes.values()), []
    for key, size in sizes.items():
        if total > total_bytes or (own > session_bytes and key[0] == session):
            drop.append(key)
            total -= size
            own -= size if key[0] == session else 0
    return drop


def log_through(handler: logging.Handler) -> None:
    """Route all logging of this process, including later loggers, through one handler, because each Streamlit module
    has its own."""
    def join(each: logging.Logger) -> None:
        for own in list(each.handlers):
            each.removeHandler(own)
        each.propagate = True

    logger.setup_formatter = join
    for each in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(each, logging.Logger):
            join(each)
    logging.root.addHandler(handler)
