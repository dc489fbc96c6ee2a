"""The settings of a server for strangers: written before anything reads them, and read back before anybody is served.

How large a file may be is one number in two places, Clearhead's limits and Streamlit's configuration. Streamlit's flag
--server.maxUploadSize, or its variable, wins over CLEARHEAD_FILE_MB.
"""
import math
import os
from collections.abc import Mapping

from viz import streamlit_patch

UPLOAD, STATE = "server.maxUploadSize", "server.maxWidgetStateSize"   # megabytes: of a file, of what a control sends
STATE_MB = 4
PRINTED = "logger.enableRich"   # what fails in a page is printed beside the log, with all that it says


def put(defaults: Mapping[str, str]) -> None:
    """Write into the environment what it leaves open; before anything of model is imported."""
    flag = streamlit_patch.flag(UPLOAD)
    if flag is not None:
        os.environ["CLEARHEAD_FILE_MB"] = str(flag)
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def hold() -> None:
    """Put the limits in force and reads them back; ends the process with a sentence where one is not."""
    from model.core.limits import LIMITS, MB, from_environment

    if from_environment(os.environ) != LIMITS:
        raise SystemExit("Error: the limits were read before server.py could set them, so that they are not in force; "
                         "start it by itself, as `streamlit run server.py`.")
    wanted = {UPLOAD: math.ceil(LIMITS.file_bytes / MB), STATE: streamlit_patch.flag(STATE) or STATE_MB,
              PRINTED: False}
    for name, value in streamlit_patch.hold_options(wanted).items():
        if value != wanted[name]:
            raise SystemExit(f"Error: Streamlit's {name} is {value} and not {wanted[name]} as this server promises; "
                             "install the version of Streamlit that requirements.txt names.")
    streamlit_patch.bound_uploads(LIMITS.session_bytes, LIMITS.total_bytes)
