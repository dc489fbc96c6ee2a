"""Fixtures of the browser tests: pages of the app that must not have any errors."""
import os

import pytest
from filelock import FileLock

from tests.browser import hosted
from tests.browser.watch import Watch
from tests.conftest import ROOT

OURS = tuple(str(ROOT / name) for name in ("app.py", "server.py", "model", "viz"))


@pytest.fixture
def watch(tabs, app):
    """Return a function that opens pages, each as in its own browser. At the end, fail if any of them had errors."""
    watches = []

    def opener(path=None, **look):
        watches.append(Watch(tabs.take(**look), app.address))
        return watches[-1] if path is None else watches[-1].open(path)

    yield opener
    for each in watches:
        each.fine()
        tabs.give_back(each.page, app.address)
    told = app.log.read_text(encoding="utf-8").splitlines()
    assert not [line for line in told if "Traceback" in line or ("EncodingWarning" in line and line.startswith(OURS))]


@pytest.fixture
def seen(watch):
    """Return one watched page, which is still empty."""
    return watch()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of Clearhead's site with PyTorch's answers to a dozen texts, made once for all pytest processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "dozen.json").exists():
            hosted.make(folder)
    return folder


@pytest.fixture(scope="session")
def host(site):
    """The address at which the site is served."""
    with hosted.served(site) as address:
        yield address
