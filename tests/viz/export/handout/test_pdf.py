"""Where Chromium is searched for, and how it prints: one document at a time, in its sandbox, with a short queue."""
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import pytest

from clearhead.model.core.query import UserError
from clearhead.viz.export.handout import pdf


@pytest.mark.parametrize("platform, there", [
    ("win32", r"C:\Somewhere\Microsoft\Edge\Application\msedge.exe"),
    ("darwin", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge")])
def test_browser_is_found_among_system_programs(tmp_path, monkeypatch, platform, there):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("PROGRAMFILES(X86)", r"C:\Somewhere")
    monkeypatch.setattr(pdf.shutil, "which", lambda name: name if name == there else None)
    assert pdf.browser() == there


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A browser that notes when it starts and ends, and how it was called; it prints once a file "go" is there."""
    program = tmp_path / "chromium"
    program.write_text(f"""#!{sys.executable}
import os, pathlib, sys, time
here = pathlib.Path({str(tmp_path)!r})
with open(here / "log", "a") as log:
    log.write("start " + " ".join(sys.argv[1:]) + "\\n")
if (here / "broken").exists() and "--no-sandbox" not in sys.argv:
    sys.exit("No usable sandbox!")
while not (here / "go").exists():
    time.sleep(0.01)
pathlib.Path([each for each in sys.argv if each.startswith("--print-to-pdf=")][0][15:]).write_bytes(b"%PDF")
with open(here / "log", "a") as log:
    log.write("end\\n")
""", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "log").touch()
    monkeypatch.setenv("BROWSER_PATH", str(program))
    monkeypatch.setattr(pdf, "_turn", threading.Lock())
    monkeypatch.setattr(pdf, "_places", threading.BoundedSemaphore(1 + pdf.WAITING))
    return tmp_path


def _lines(fake):
    return (fake / "log").read_text(encoding="utf-8").splitlines()


def test_one_browser_prints_at_a_time_and_few_wait(fake):
    with ThreadPoolExecutor(10) as pool:
        asked = [pool.submit(pdf.printed, b"<p>x") for _ in range(8)]
        done = wait(asked, timeout=20, return_when=FIRST_EXCEPTION).done
        assert done and all("Try again in a minute" in str(each.exception()) for each in done)
        (fake / "go").touch()
        answers = [each.exception() or each.result() for each in asked]
    assert answers.count(b"%PDF") == 1 + pdf.WAITING
    assert sum(isinstance(each, UserError) for each in answers) == 8 - 1 - pdf.WAITING
    assert [line.split()[0] for line in _lines(fake)] == ["start", "end"] * (1 + pdf.WAITING)


def test_long_wait_is_reported_and_frees_its_slot(fake, monkeypatch):
    monkeypatch.setattr(pdf, "PATIENCE", 0.05)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pdf.printed, b"<p>x")
        while not _lines(fake):
            time.sleep(0.01)
        for _ in range(pdf.WAITING + 2):
            with pytest.raises(UserError, match="still printing"):
                pdf.printed(b"<p>x")
        (fake / "go").touch()
        assert first.result() == pdf.printed(b"<p>x") == b"%PDF"


def test_browser_that_hangs_is_ended(fake, monkeypatch):
    monkeypatch.setattr(pdf, "SECONDS", 0.5)
    with pytest.raises(UserError, match=r"within 0\.5 seconds"):
        pdf.printed(b"<p>x")
    monkeypatch.setattr(pdf, "SECONDS", 20)
    (fake / "go").touch()
    assert pdf.printed(b"<p>x") == b"%PDF"


@pytest.mark.parametrize("broken", [False, True])
def test_public_server_prints_in_the_sandbox_or_not_at_all(fake, monkeypatch, broken):
    (fake / "go").touch()
    if broken:
        (fake / "broken").touch()
    for root in (False, True):
        monkeypatch.setattr(pdf, "_is_root", lambda root=root: root)
        monkeypatch.setenv("CLEARHEAD_PDF_SANDBOX", "0")
        assert pdf.printed(b"<p>x") == b"%PDF" and ("--no-sandbox" in _lines(fake)[-2]) is (root or broken)
        monkeypatch.setenv("CLEARHEAD_PDF_SANDBOX", "1")
        if root:
            assert pdf.browser() is None
        if root or broken:
            with pytest.raises(UserError, match="needs Chromium" if root else "made no PDF"):
                pdf.printed(b"<p>x")
        else:
            assert pdf.printed(b"<p>x") == b"%PDF"
