"""The JavaScript and CSS of a component as one text each.

The modules in this folder are plain ES modules that import one another; Streamlit loads a component from one inline
text, which cannot import. So what a module imports is written before it, once, and the import and export marks between
them go. Comments and indentation stay at home: only what runs is sent. """
import functools
import itertools
import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "([^"]+)";\n', re.MULTILINE)
QUOTED = re.compile(r'("[^"\n]*"|`[^`]*`)')
BLANKS = re.compile(r" *([=(){}\[\],;:<>?&|*]+) *")
COMMENT = re.compile(r"^\s*(//.*|/\*[^*]*\*/)\n| {3}// .*$", re.MULTILINE)
STYLED = re.compile(r"(?<=:) | *([{};,]) *")   # blanks in a style sheet that say nothing


def _modules(path: Path, seen: list[Path]) -> list[Path]:
    """The module's imports, depth first and each once, and then itself."""
    for found in IMPORT.findall(path.read_text(encoding="utf-8")):
        _modules((path.parent / found).resolve(), seen)
    if path not in seen:
        seen.append(path)
    return seen


def _lines(text: str) -> str:
    """Without comments, indentation and empty lines."""
    return "\n".join(line.strip() for line in COMMENT.sub("", text).splitlines() if line.strip()) + "\n"


def _dense(text: str) -> str:
    """JavaScript without blanks beside signs. What is quoted stays; + - / stay apart, where a blank can matter."""
    parts = zip(QUOTED.split(text), itertools.cycle((False, True)))
    return "".join(part if quoted else BLANKS.sub(r"\1", part) for part, quoted in parts)


@functools.cache
def script(*modules: str) -> str:
    """Modules of this folder with everything they import, as one module; what the first one exports stays exported."""
    paths: list[Path] = []
    for module in modules:
        _modules((FOLDER / module).resolve(), paths)
    own = (FOLDER / modules[0]).resolve()
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    inlined = [text if path == own else re.sub(r"^export ", "", text, flags=re.MULTILINE)
               for path, text in texts.items()]
    return _dense(_lines(IMPORT.sub("", "\n".join(inlined))))


def registered_code(component: str, when: str = "") -> str:
    """A module that registers the component's code and style (js/code_registry.js): as it runs, or when what
    stands in `when` says."""
    name, css = json.dumps(component), json.dumps(component_style(component))
    registration = f"registeredCode({name}).resolve({{mount, css: {css}}});\n"
    return script(f"{component}/{component}.js", "js/code_registry.js") + when + registration


def component_style(component: str) -> str:
    """The component's CSS after what all components share."""
    return stylesheet("js/shared.css", f"{component}/{component}.css")


@functools.cache
def stylesheet(*names: str) -> str:
    """Style sheets of this folder as one."""
    sheets = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
    return STYLED.sub(r"\1", _lines(sheets).replace("\n", " ")).replace("}", "}\n").strip() + "\n"
