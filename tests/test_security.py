"""Every promise in SECURITY.md names an existing test, and its figures are the server's own."""
import ast
import re

from tests.conftest import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]
SETTINGS = dict(re.findall(r'"(CLEARHEAD_\w+)": "(\d+)"', (ROOT / "server.py").read_text(encoding="utf-8")))


def test_every_promise_names_a_test_that_exists():
    assert len(ROWS) > 10
    for row in ROWS:
        file, name = re.search(r"`(tests/\S+\.py)::(test_\w+)`", row).groups()
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, row


def test_figures_equal_those_of_server_py():
    words = " ".join(TEXT.split())
    assert f"at most {SETTINGS['CLEARHEAD_FILE_MB']} MB (CLEARHEAD_FILE_MB)" in words
    assert f"may take {SETTINGS['CLEARHEAD_SESSION_MB']} MB, all together {SETTINGS['CLEARHEAD_TOTAL_MB']};" in words
    assert SETTINGS["CLEARHEAD_METRICS"] == "0"


def test_readers_are_pointed_to_it():
    for name in ("README.md", "CONTRIBUTING.md", "server.py"):
        assert "SECURITY.md" in (ROOT / name).read_text(encoding="utf-8")
