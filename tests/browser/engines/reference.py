"""Compute the results in Chromium once for all pytest processes, as a reference for other engines."""
import json
import os
from collections.abc import Callable

from filelock import FileLock

from tests.browser.engines.engine import HIGH, WIDE, Engine, Played


class Reference:
    def __init__(self, tabs, tmp_path_factory):
        self.tabs, self.engine = tabs, None
        base = tmp_path_factory.getbasetemp()
        self.folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def __call__(self, name: str, visit: Callable[[Engine], object]) -> object:
        """Return the result of visit(engine) in Chromium. name: identifies the visit."""
        path = self.folder / f"chromium-{name}.json"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                self.engine = self.engine or Played(self.tabs.take(width=WIDE, height=HIGH))
                path.write_text(json.dumps(visit(self.engine)), encoding="utf-8")
        return json.loads(path.read_text(encoding="utf-8"))
