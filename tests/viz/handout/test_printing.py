"""Where a Chromium is looked for: the PATH, and where Windows and macOS keep programs, which is not on it."""
import sys

import pytest

from viz.handout import printing


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with nothing on its PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    return tmp_path


def test_without_a_browser_there_is_none(bare, monkeypatch):
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    assert printing.browser() is None


@pytest.mark.parametrize("variable, program", [
    ("PROGRAMFILES", r"Google\Chrome\Application\chrome.exe"), ("PROGRAMFILES(X86)", r"Microsoft\Edge\Application\msedge.exe"),
    ("LOCALAPPDATA", r"Chromium\Application\chrome.exe")])
def test_on_windows_it_is_found_among_the_programs(bare, monkeypatch, variable, program):
    monkeypatch.setattr(sys, "platform", "win32")
    for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, r"C:\Somewhere")
    there = rf"C:\Somewhere\{program}"
    monkeypatch.setattr(printing.shutil, "which", lambda name: name if name == there else None)
    assert printing.browser() == there


def test_on_macos_it_is_found_among_the_applications(bare, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    there = "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"
    monkeypatch.setattr(printing.shutil, "which", lambda name: name if name == there else None)
    assert printing.browser() == there
