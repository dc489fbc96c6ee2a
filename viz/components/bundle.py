"""What a page without a server holds of this folder: modules as one script, style sheets as one text.

A page of the app loads the modules as files (files.py); a handout must carry them, and its policy lets no file be
imported. So each module becomes a function that is called once and gives what the module exports.
"""
import functools
import re
from pathlib import Path

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import (\{[^}]*\}) from "([^"]+)";$', re.MULTILINE)
TYPES = re.compile(r"^/\*\*.*?\*/\n", re.MULTILINE | re.DOTALL)   # comments, which a browser need not get
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


def _imports(path: Path, seen: list[Path]) -> list[Path]:
    """Return the module's imports, depth first and each once, and then itself."""
    for _, imported in IMPORT.findall(path.read_text(encoding="utf-8")):
        _imports((path.parent / imported).resolve(), seen)
    if path not in seen:
        seen.append(path)
    return seen


def _name(path: Path) -> str:
    return f'modules["{path.relative_to(FOLDER.resolve()).as_posix()}"]'


def _function(path: Path) -> str:
    """Return a module as a function that is called once."""
    text = TYPES.sub("", path.read_text(encoding="utf-8"))
    linked = IMPORT.sub(lambda match: f"const {match[1]} = {_name((path.parent / match[2]).resolve())};", text)
    exported = ", ".join(EXPORT.findall(text))
    return f"{_name(path)} = (() => {{\n{EXPORT.sub('', linked)}return {{ {exported} }};\n}})();\n"


@functools.cache
def script(*names: str) -> str:
    """Modules of this folder with everything they import; what one exports is then in modules["its path here"]."""
    paths: list[Path] = []
    for name in names:
        _imports((FOLDER / name).resolve(), paths)
    return "const modules = {};\n" + "".join(map(_function, paths))


def component_style(component: str) -> str:
    """Return the component's CSS after what all components share."""
    return stylesheet("js/shared.css", f"{component}/{component}.css")


@functools.cache
def stylesheet(*names: str) -> str:
    """Style sheets of this folder as one."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
