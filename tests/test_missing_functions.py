"""Our own code neither names nor needs what Windows' Python lacks."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHILD = '''
import importlib, os, pkgutil, signal, sys

def answer():
    from clearhead.model import sources
    from clearhead.model.ask import desk
    from clearhead.viz.export import formats
    from clearhead.model.core.view import View
    record = desk.ask(sources.open_query("minilm", "a cat sat on it")).result(200)
    return record.verification.status, len(formats.export(".svg", record, View())) > 1000

answer()   # with it come other packages, which have lines of their own for each system
for module, names in ((os, ("sysconf", "nice", "getloadavg", "fork", "killpg", "setsid", "getuid", "geteuid", "uname",
                            "getpgid")),
                      (signal, ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "alarm", "pause"))):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios", "pty")))
for name in [name for name in sys.modules if name.split(".")[0] == "clearhead"]:
    del sys.modules[name]
for package in map(importlib.import_module, ("clearhead.model", "clearhead.viz")):
    for each in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(each.name)
print(*answer())
'''


@pytest.mark.rest
def test_our_code_needs_nothing_that_windows_lacks():
    ran = subprocess.run([sys.executable, "-c", CHILD], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300)
    assert ran.stdout == "verified True\n", ran.stderr[-2000:]
