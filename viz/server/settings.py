"""The settings of a public server, which are set before anything reads them and verified before the first request.

The largest file size is set twice, in Clearhead's limits and in Streamlit's configuration. Streamlit's flag
--server.maxUploadSize, or its environment variable, takes precedence over CLEARHEAD_FILE_MB.
"""
import math
import os
from collections.abc import Mapping

from clearhead.viz.app import streamlit_patch

UPLOAD, STATE = "server.maxUploadSize", "server.maxWidgetStateSize"  # megabytes per file, and per widget message
STATE_MB = 4
PRINTED = "logger.enableRich"   # if true, page errors are printed outside the log, including their messages


def put(defaults: Mapping[str, str]) -> None:
    """Set the environment variables that are not set yet. Call it before importing anything from model."""
    flag = streamlit_patch.flag(UPLOAD)
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
    wanted = {UPLOAD: math.ceil(LIMITS.file_bytes / MB), STATE: streamlit_patch.flag(STATE) or STATE_MB,
              PRINTED: False}
    for name, value in streamlit_patch.hold_options(wanted).items():
        if value != wanted[name]:
            raise SystemExit(f"Error: Streamlit's {name} is {value} instead of {wanted[name]}; "
                             "install the version of Streamlit that requirements.txt names.")
    streamlit_patch.bound_uploads(LIMITS.session_bytes, LIMITS.total_bytes)
