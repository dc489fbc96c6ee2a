import re

import pytest

from viz.components.bundle import component_style, script, stylesheet

COMPONENTS = ("head_grid", "head_view", "token_strip")


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_is_one_module_that_imports_nothing(name):
    text = script(f"{name}/{name}.js")
    assert not re.search(r"^\s*import\b", text, re.MULTILINE)
    assert re.findall(r"^export (.*?)\(", text, re.MULTILINE) == ["function mount"]
    assert not re.search(r"^\s*//", text, re.MULTILINE)


def test_what_is_quoted_is_not_touched():
    assert '"(prefers-color-scheme: dark)"' in script("js/shared.js")
    assert "translate(${x}px, ${y}px)" in script("js/shared.js")


def test_what_travels_is_small():
    """The grid has 20 kB beside its thumbnails; its code and style take less."""
    assert len(script("head_grid/head_grid.js")) + len(component_style("head_grid")) < 19_500
    assert len(script("slider/slider.js")) + len(stylesheet("slider/slider.css")) < 6_500   # with every move of a slider
    assert len(script("js/body.js")) + len(script("js/state.js")) < 2_000
