"""The data-testid of Streamlit that style sheets and modules rely on are private: one that it drops is named here."""
import re
from pathlib import Path

import streamlit

from tests.conftest import ROOT

SOURCES = [path for suffix in ("js", "css", "py") for path in (ROOT / "viz").rglob(f"*.{suffix}")]
MOST = 76   # times that they are named; fewer is better
NAME = re.compile(r"data-testid[\^*$]?=\"?(\w+)")


def test_every_name_is_in_the_streamlit_that_is_installed():
    used = [name for path in SOURCES for name in NAME.findall(path.read_text(encoding="utf-8"))]
    scripts = Path(streamlit.__file__).parent.glob("static/static/js/*.js")
    there = {name for path in scripts for name in re.findall(r"\bst[A-Z]\w*", path.read_text(encoding="utf-8"))}
    assert sorted({*used} - there) == []
    assert 0 < len(used) <= MOST
