"""Who may import whom, and how long a module may be: the rules of the design, written once."""
import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [*sorted(path for folder in ("model", "viz") for path in (ROOT / folder).rglob("*.py")), ROOT / "app.py", ROOT / "server.py"]
SOURCES = ("app", "viz.pages", "viz.components", "viz.__main__", "viz.notebook")
# (who, what, allowed exceptions): a module whose name begins with `who` imports nothing that begins with `what`
RULES = [
    ("model", ("viz", "streamlit", "plotly", "matplotlib", "app"), ()),
    ("viz", ("streamlit",), ("viz.pages", "viz.components")),
    ("viz", ("torch", "transformers", "model.scratch", "model.pretrained"), ()),
    ("viz", ("model.sources",), SOURCES),
    ("model", ("transformers",), ("model.pretrained",)),
    ("model.scratch", ("model.pretrained",), ()),
    ("model.pretrained", ("model.scratch",), ()),
    ("viz.figures", ("viz.pages", "viz.components", "viz.export"), ()),
    ("viz.pages", ("viz.pages",), ()),
    ("app", ("torch", "transformers", "model.scratch", "model.pretrained"), ()),
]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> list[tuple[int, str, bool]]:
    """(line, module, at the top of the file) of every import; `from a import b` names both a and a.b."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, each.name, id(node) in top) for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
            found += [(node.lineno, name, id(node) in top) for name in names]
    return found


def under(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_follow_the_design(path):
    name = name_of(path)
    for who, whats, exceptions in RULES:
        if not under(name, who) or any(under(name, each) for each in exceptions):
            continue
        for line, module, _ in imports(path):
            for what in whats:
                assert not under(module, what) or module == name, f"{path.relative_to(ROOT)}:{line} imports {module}, but {who} may not import {what}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_packages_are_imported_where_they_are_used(path):
    """The first page must not wait for what it does not use."""
    light = not under(name_of(path), "model.scratch") and name_of(path) not in ("model.attention",)
    for line, module, top in imports(path):
        heavy = under(module, "transformers") or under(module, "matplotlib") or (light and under(module, "torch"))
        assert not (top and heavy), f"{path.relative_to(ROOT)}:{line} imports {module} at its top; move it into the function that needs it"


@pytest.mark.parametrize("path", [*FILES, *sorted((ROOT / "viz").rglob("*.js"))], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_300_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("path", [each for each in FILES if each.suffix == ".py"], ids=name_of)
def test_no_function_is_longer_than_40_lines(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 40, f"{path.relative_to(ROOT)}:{node.lineno} {node.name} is too long; split it"


def test_no_view_reaches_for_another_machine():
    for path in [*(ROOT / "viz").rglob("*.js"), *(ROOT / "viz").rglob("*.css"), ROOT / ".streamlit" / "config.toml"]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org", "")
        assert "http://" not in text and "https://" not in text, path
