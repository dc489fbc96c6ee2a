"""The public server's limits are in force in Streamlit's own configuration, or it does not start."""
import json
import os
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

from tests.conftest import ROOT, free_port

DEFAULTS = {"CLEARHEAD_FILE_MB": "32", "CLEARHEAD_SESSION_MB": "128", "CLEARHEAD_TOTAL_MB": "256"}
QUIET = "PYTHONWARNDEFAULTENCODING"   # other packages' texts
TOLD = """
from streamlit import config
from streamlit.runtime import runtime_util
from clearhead.model.core.limits import LIMITS
config.get_config_options(force_reparse=True)   # as when a file of Streamlit's configuration changes
print(json.dumps([LIMITS.file_bytes, config.get_option("server.maxUploadSize"),
                  runtime_util.get_max_widget_state_size_bytes()]))
"""


def started(before: str = "", after: str = "", **environment: str) -> subprocess.CompletedProcess:
    """Start a process that begins like server.py."""
    code = (f"import json\n{before}\nfrom clearhead.viz.server import settings\n"
            f"settings.put({DEFAULTS})\nsettings.hold()\n{after}")
    clean = {name: value for name, value in os.environ.items() if name not in {*DEFAULTS, QUIET}}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=clean | environment, capture_output=True,
                          encoding="utf-8")


FLAG = "from streamlit.web import bootstrap; bootstrap.load_config_options({'server_maxUploadSize': 5})"


@pytest.mark.parametrize(("before", "environment", "file_bytes", "megabytes"), [
    ("", {}, 32 * 2**20, 32),
    ("", {"CLEARHEAD_FILE_MB": "7.5"}, 7.5 * 2**20, 8),
    (FLAG, {"CLEARHEAD_FILE_MB": "8"}, 5 * 2**20, 5),
], ids=["default", "Clearhead's setting", "Streamlit's flag wins"])
def test_upload_limit_is_the_same_in_both_settings(before, environment, file_bytes, megabytes):
    ran = started(before, TOLD, **environment)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [file_bytes, megabytes, 4_000_000]


@pytest.mark.parametrize(("before", "sentence"), [
    ("import clearhead.model.core.limits", "read before server.py could set them"),
    ("from streamlit import config; config.set_option = lambda *_: None", "maxUploadSize is 200 instead of 32"),
], ids=["read too early", "Streamlit takes none"])
def test_server_whose_limits_are_not_in_force_does_not_start(before, sentence):
    ran = started(before, "print('started')")
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.startswith("Error: ") and sentence in ran.stderr and ran.stderr.count("\n") == 1


WORKER = """
import json, os
{before}
from server import app
from streamlit import config
from clearhead.model.core.limits import LIMITS
told = json.dumps([os.getpid(), LIMITS.file_bytes, config.get_option("server.maxUploadSize")])
os.write(1, f"{{told}}\\n".encode())   # at once: two workers write into one pipe
"""


def end_with_workers(server: subprocess.Popen) -> None:
    """On Windows, a server that is ended leaves its workers running."""
    workers = psutil.Process(server.pid).children(recursive=True)
    server.kill()
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill()
    server.communicate(timeout=60)


@pytest.mark.parametrize("before", [
    pytest.param("", id="in force"),
    pytest.param("import clearhead.model.core.limits", id="read too early", marks=pytest.mark.rest)])
def test_every_worker_has_the_limits_or_serves_nobody(tmp_path, before):
    (tmp_path / "worker.py").write_text(WORKER.format(before=before), encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in {*DEFAULTS, QUIET}}
    command = [sys.executable, "-m", "uvicorn", "worker:app", "--workers", "2", "--port", str(free_port())]
    ran = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                           env=clean | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))})
    try:
        own = (line for line in ran.stdout if not line.startswith("INFO:"))
        told = [next(own), next(own)]   # uvicorn starts one that ended again, as long as it runs
    finally:
        end_with_workers(ran)
    if before:
        assert all(line.startswith("Error: the limits were read before server.py could set them") for line in told)
    else:
        (first, *one), (second, *other) = map(json.loads, told)
        assert first != second and one == other == [32 * 2**20, 32]


def test_server_py_run_by_python_says_how_to_start_it(tmp_path):
    ran = subprocess.run([sys.executable, "server.py"], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert ran.returncode == 1 and "streamlit run server.py" in ran.stderr
