"""The settings of a public server, which are set before anything reads them and verified before the first request.

The largest file size is set twice, in Clearhead's limits and in Streamlit's configuration. Streamlit's flag
--server.maxUploadSize, or its environment variable, takes precedence over CLEARHEAD_FILE_MB.
"""
import ctypes
import math
import os
import sys
from collections.abc import Mapping

from clearhead.viz.server import streamlit_limits

UPLOAD, STATE = "server.maxUploadSize", "server.maxWidgetStateSize"  # megabytes per file, and per widget message
STATE_MB = 4
# M_ARENA_MAX and M_MMAP_THRESHOLD of glibc's malloc.h, and their values
HEAP = {-8: 2, -3: 2**18}
PRINTED = "logger.enableRich"   # if true, page errors are printed outside the log, including their messages


def put(defaults: Mapping[str, str]) -> None:
    """Set the environment variables that are not set yet. Call it before importing anything from model."""
    flag = streamlit_limits.flag(UPLOAD)
    if flag is not None:
        os.environ["CLEARHEAD_FILE_MB"] = str(flag)
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def hold() -> None:
    """Apply the limits and verify them. Exits with one sentence if a limit is not in force."""
    from clearhead.model.core.limits import LIMITS, MB, from_environment

    if from_environment(os.environ) != LIMITS:
        raise SystemExit("Error: the limits were read before server.py could set them, so they are not in force; "
                         "start it on its own with `streamlit run server.py`.")
    wanted = {UPLOAD: math.ceil(LIMITS.file_bytes / MB), STATE: streamlit_limits.flag(STATE) or STATE_MB,
              PRINTED: False}
    for name, value in streamlit_limits.hold_options(wanted).items():
        if value != wanted[name]:
            raise SystemExit(f"Error: Streamlit's {name} is {value} instead of {wanted[name]}; "
                             "install the version of Streamlit that requirements.txt names.")
    streamlit_limits.bound_uploads(LIMITS.session_bytes, LIMITS.total_bytes)


def tune_heap() -> None:
    """Limit glibc to two malloc arenas instead of eight per core, and give each large array its own pages. Call it
    before other threads start.

    Each script run is a thread, and memory freed in one arena cannot be reused from another. With thirty visitors over
    three minutes on two cores, two arenas reduced memory from 713 to 598 MB at most. Arrays that a record keeps would
    sit between those that a layer discards: a pass of SmolLM2 over 781 tokens, whose record has 85 MB, grew a process
    by 155 MB at most, and by 83 MB with pages of their own.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:   # not in musl
        for parameter, value in HEAP.items():
            mallopt(parameter, value)
