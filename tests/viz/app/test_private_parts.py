"""Private parts of Streamlit and plotly: the listed ones exist, and no others are used."""
import re
import tomllib
from pathlib import Path

import pytest
import streamlit
from plotly.offline import get_plotlyjs

from tests.conftest import ROOT
from tests.parts import require_part

LISTED = tomllib.loads((ROOT / "viz" / "app" / "private_parts.toml").read_text(encoding="utf-8"))
SOURCES = {path: path.read_text(encoding="utf-8") for suffix in ("js", "css", "py")
           for path in (ROOT / "viz").rglob(f"*.{suffix}")}
NAME = re.compile(r"""(?:data-testid[\^*$]?=["']?|["'])(st[A-Z]\w+)""")


@pytest.mark.parametrize("part", sorted({part for each in LISTED["streamlit"] for part in each["parts"]}))
def test_part_of_streamlit_exists(part):
    module, name = part.split(":")
    require_part(f"streamlit.{module}", name, "viz/app/streamlit_patch.py")


def test_selectors_are_listed_and_exist():
    used = [name for text in SOURCES.values() for name in NAME.findall(text)]
    selectors = LISTED["selectors"]
    listed = {name for group in ("layout", "around", "widgets", "text") for name in selectors[group]}
    scripts = Path(streamlit.__file__).parent.glob("static/static/js/*.js")
    there = {name for path in scripts for name in re.findall(r"\bst[A-Z]\w*", path.read_text(encoding="utf-8"))}
    assert {*used} == listed and listed <= there
    assert len(used) <= selectors["most"]


def test_keys_that_styles_and_modules_read_are_listed_and_written():
    written = "".join(text for path, text in SOURCES.items() if path.suffix == ".py")
    used = {key for path, text in SOURCES.items() if path.suffix != ".py"
            for key in re.findall(r"st-key-([a-z][\w-]*)", text)}
    begin, whole = LISTED["keys"]["begin"], LISTED["keys"]["whole"]
    assert {next((start for start in begin if key.startswith(start)), key) for key in used} == {*begin, *whole}
    assert [key for key in (*begin, *whole) if f'"{key.removesuffix("-state")}' not in written] == []


def test_functions_of_the_history_are_replaced_where_listed():
    replaced = {path.name: re.findall(r"^history\.(\w+) = ", text, re.MULTILINE) for path, text in SOURCES.items()}
    assert {name: found for name, found in replaced.items() if found} == {"history.js": LISTED["history"]["parts"]}


def test_parts_of_plotly_exist():
    used = "".join(text for path, text in SOURCES.items() if path.suffix != ".py")
    assert [part for part in LISTED["plotly"]["parts"] if part not in get_plotlyjs() or part not in used] == []
