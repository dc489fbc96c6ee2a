"""Bundle this folder's modules and style sheets for pages without a server.

The app's pages load modules as files (files.py). A handout has to contain them, and its content security policy forbids
imports, so each module becomes a function that is called once and returns the module's exports.
"""
import functools
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import (\{[^}]*\}) from "([^"]+)";$', re.MULTILINE)
TYPES = re.compile(r"^/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)   # JSDoc comments, which are removed
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


def _imports(path: Path, seen: list[Path]) -> list[Path]:
    """Append the module's imports, depth first and without duplicates, and then the module to `seen`; return it."""
    for _, imported in IMPORT.findall(path.read_text(encoding="utf-8")):
        _imports((path.parent / imported).resolve(), seen)
    if path not in seen:
        seen.append(path)
    return seen


def _name(path: Path) -> str:
    return f'modules["{path.relative_to(FOLDER.resolve()).as_posix()}"]'


def _function(path: Path) -> str:
    """Return a module's code wrapped in a function that is called once."""
    text = TYPES.sub("", path.read_text(encoding="utf-8"))
    linked = IMPORT.sub(lambda match: f"const {match[1]} = {_name((path.parent / match[2]).resolve())};", text)
    exported = ", ".join(EXPORT.findall(text))
    return f"{_name(path)} = (() => {{\n{EXPORT.sub('', linked)}return {{ {exported} }};\n}})();\n"


@functools.cache
def script(*names: str) -> str:
    """Return modules of this folder and all their imports as one script. A module's exports are in modules["path"],
    relative to this folder."""
    paths: list[Path] = []
    for name in names:
        _imports((FOLDER / name).resolve(), paths)
    return "const modules = {};\n" + "".join(map(_function, paths))


def program(module: str, *given: str, more: Iterable[str] = ()) -> str:
    """Return a script that calls a module's function `start` with these arguments, in JavaScript. more: modules besides
    those that it imports."""
    return f'{script(module, *more)}modules["{module}"].start({", ".join(given)});\n'


def component_style(component: str) -> str:
    """Return the shared CSS followed by the component's."""
    return stylesheet("js/shared.css", f"{component}/{component}.css")


@functools.cache
def stylesheet(*names: str) -> str:
    """Concatenate style sheets of this folder."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
