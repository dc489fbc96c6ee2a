import re
from pathlib import Path

import pytest

from viz.components import bundle
from viz.components.bundle import script

SCRIPTS = sorted(bundle.FOLDER.rglob("*.js"))
COMPONENTS = [path.parent.name for path in SCRIPTS if path.stem == path.parent.name]
NOT_COMPONENTS = ["handout"]   # a page's own script, which nobody imports


def name_of(path: Path) -> str:
    return path.relative_to(bundle.FOLDER).as_posix()


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_is_one_module_that_imports_nothing_and_exports_one_function(name):
    text = script(f"{name}/{name}.js")
    assert not re.search(r"^\s*(import\b(?!\()|//)", text, re.MULTILINE)
    assert len(re.findall(r"^export (?:function mount\(|default )", text, re.MULTILINE)) == (name not in NOT_COMPONENTS)


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_source_is_written_as_the_minifier_reads_it(path):
    """It knows strings in double quotes and templates, both on one line and without a quote of their own kind."""
    code = bundle.COMMENT.sub("", path.read_text(encoding="utf-8"))
    bare = bundle.QUOTED.sub("", code)
    assert not re.search("[\"'`]", bare), "a quote is left over: strings in double quotes, on one line, without \\\""
    assert not re.search(r"`[^`]*\n[^`]*`", "".join(bundle.QUOTED.findall(code))), "a template over two lines"


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_what_is_quoted_travels_as_it_is(path):
    quoted = [bundle.QUOTED.findall(text) for text in (bundle.COMMENT.sub("", path.read_text(encoding="utf-8")),
                                                       script(name_of(path)))]
    imported = re.findall(r'^import .* from (".*");$', path.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(quoted[0]) - set(imported) <= set(quoted[1])
