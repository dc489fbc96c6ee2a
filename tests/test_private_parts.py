"""What Streamlit and transformers do not call public is used in one file each, where an upgrade is mended."""
import ast
from collections.abc import Iterator

import pytest

from tests.test_architecture import FILES, name_of, under, where

# whose parts that are not public stand in one file; everything else of them is imported from the package itself
NOT_PUBLIC = {"streamlit": "viz.streamlit_patch", "transformers": "model.capture.transformers_internals"}


def not_public(source: str, private: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, what) of each part of these packages that they do not say is public: a module inside them, and a name
    with an underscore that is none of our own, `private`."""
    names: set[str] = set()   # under which the packages are known here
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for each in node.names:
                if under(each.name, *NOT_PUBLIC):
                    names.add(each.asname or each.name.split(".")[0])
                    if "." in each.name:
                        yield node.lineno, each.name
        elif isinstance(node, ast.ImportFrom) and under(node.module or "", *NOT_PUBLIC):
            inside = "." in (node.module or "") or node.module == "streamlit"
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names if inside)
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__") \
                and node.attr not in private:
            yield node.lineno, node.attr
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) \
                and isinstance(node.value.value, ast.Name) and node.value.value.id in names \
                and node.value.attr in INSIDES:
            yield node.lineno, f"{node.value.attr}.{node.attr}"


# modules that come with the packages' own names
INSIDES = {"models", "utils", "integrations", "masking_utils", "runtime", "web", "config", "delta_generator", "proto"}


def own_private_names() -> frozenset[str]:
    """Every name with an underscore that a file of ours binds."""
    bound: set[str] = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) \
                    and isinstance(node.value, ast.Name) and node.value.id == "self":
                bound.add(node.attr)
    return frozenset(name for name in bound if name.startswith("_"))


def test_what_is_not_public_of_a_package_stands_in_one_file():
    private = own_private_names()
    for path in FILES:
        if name_of(path) not in NOT_PUBLIC.values():
            parts = [f"{where(path, line)} uses {what}" for line, what in
                     not_public(path.read_text(encoding="utf-8"), private)]
            assert not parts, f"{'; '.join(parts)}: take it from {' or '.join(NOT_PUBLIC.values())}"


@pytest.mark.parametrize("source", [
    "from streamlit.runtime import Runtime", "from streamlit import config", "import streamlit.web.cli",
    "from transformers.models.auto import modeling_auto", "import transformers\ntransformers.models.auto",
    "network.config._attn_implementation", "def f():\n    import transformers.masking_utils as m"])
def test_the_rule_of_one_file_names_what_is_not_public(source):
    assert list(not_public(source, frozenset()))


@pytest.mark.parametrize("source", [
    "import streamlit as st\nst.empty()", "from transformers import AutoConfig", "self._own",
    "import transformers\ntransformers.AutoModel.from_pretrained"])
def test_the_rule_of_one_file_lets_pass_what_is_public(source):
    assert not list(not_public(source, frozenset({"_own"})))
