"""Who may import whom, and how large a thing may be: the rules of the design, written once.

An import counts wherever it stands: at the top, in a function, under TYPE_CHECKING.
"""
import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [*sorted((ROOT / "model").rglob("*.py")), *sorted((ROOT / "viz").rglob("*.py")), ROOT / "app.py",
         ROOT / "server.py"]
SCRIPTS, STYLES = sorted((ROOT / "viz").rglob("*.js")), sorted((ROOT / "viz").rglob("*.css"))

# from the ground up: a room imports from itself and from the floors below, nothing from above and nothing beside it
MODEL = [
    ["model.core"],
    ["model.capture", "model.studies"],
    ["model.pretrained", "model.scratch", "model.imported", "model.module"],
    ["model.training", "model.lessons"],
    ["model.ask"],
    ["model.cli"],
    ["model.__main__"],
]
VIZ = [
    ["viz.text", "viz.theme", "viz.page_controls", "viz.packed_text", "viz.streamlit_patch",
     "viz.compression"],
    ["viz.format", "viz.examples", "viz.readable_scale", "viz.glow"],
    ["viz.provenance", "viz.claims"],
    ["viz.components", "viz.figures", "viz.print"],
    ["viz.handout"],
    ["viz.export"],
    ["viz.state"],
    ["viz.session"],
    ["viz.link", "viz.waiting"],
    ["viz.page"],
    ["viz.glossary"],
    ["viz.widgets"],
    ["viz.pages"],   # each page is a room of its own
    ["viz.startup", "viz.server", "viz.notebook", "viz.__main__"],
    ["app"],
    ["server"],
]
UPWARDS = {("viz.page", "viz.pages")}   # the contract finds the pages in their folder

# what a room of viz may import of model beside model.core
ASKING = ("model.ask", "model.studies", "model.lessons", "model.training", "model.cli.progress")
OF_MODEL = {
    "viz.pages": ASKING, "viz.widgets": ASKING, "viz.notebook": (*ASKING, "model.module"),
    "viz.__main__": (*ASKING, "model.cli.commands"),
    "viz.export": ("model.studies",), "viz.print": ("model.studies",), "viz.handout": ("model.studies",),
    "viz.session": ASKING, "viz.waiting": ("model.ask",), "viz.page": ("model.ask",), "viz.startup": ("model.ask",),
    "app": ("model.ask",),
}

# which rooms may import a package of others; every other package is free
PACKAGES = {
    "streamlit": ["app", "server", "viz.pages", "viz.widgets", "viz.components", "viz.session", "viz.waiting",
                  "viz.page", "viz.startup", "viz.server", "viz.streamlit_patch"],
    "plotly": ["viz.figures", "viz.handout", "viz.components.files"],
    "matplotlib": ["viz.print"],
    "torch": ["model"],
    "pandas": ["model.core.tables", "model.core.measures", "model.studies", "viz.figures", "viz.handout", "viz.export",
               "viz.widgets", "viz.pages"],
    "scipy": ["model.core.statistics"],
    "transformers": ["model.pretrained", "model.capture"],
}

# torch is at the top of what is made of its classes, and nothing imports that before it is needed
MADE_OF_TORCH = ["model.scratch", "model.core.attention", "model.lessons.recurrent", "model.capture.module_attention",
                 "model.capture.module_proof", "model.capture.multi_head", "model.capture.origins",
                 "model.capture.torch_attention"]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


MODULES = {name_of(path): path for path in FILES}


def under(module: str, *prefixes: str) -> bool:
    return any(module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, what, at the top of the file) of every import. What: a module of ours, or as it is written."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name, id(node) in top) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            whole_name = node.module and not node.level
            assert whole_name, f"{where(path, node.lineno)} imports from a dot; write the whole name"
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield node.lineno, whole if whole in MODULES else node.module, id(node) in top


def room_of(module: str) -> str:
    """The entry of the tables that a module of ours belongs to; of a page its own file or folder."""
    parts = module.split(".")
    return ".".join(parts[:3]) if under(module, "viz.pages") else ".".join(parts[:2])


def floor_of(room: str, floors: list[list[str]]) -> int:
    found = [number for number, rooms in enumerate(floors) if under(room, *rooms)]
    assert len(found) == 1, f"{room} stands on {len(found)} floors; give it its one place in the tables of this file"
    return found[0]


def forbidden(importer: str, imported: str) -> str:
    """Why one module may not import another, "" where it may."""
    if imported not in MODULES or imported in ("model", "viz"):
        homes = PACKAGES.get(imported.split(".")[0])
        return "" if homes is None or under(importer, *homes) else f"only {', '.join(homes)} may"
    own, other = room_of(importer), room_of(imported)
    if own == other or (own, other) in UPWARDS or importer in ("model", "viz"):
        return ""
    if under(importer, "model"):
        if not under(imported, "model"):
            return "model knows nothing of what shows it"
        return "" if floor_of(other, MODEL) < floor_of(own, MODEL) else "it is not on a floor below"
    if under(imported, "model"):
        may = ["model.core", *next((rooms for who, rooms in OF_MODEL.items() if under(importer, who)), ())]
        return "" if under(imported, *may) else f"of model it may import {', '.join(may)}"
    return "" if floor_of(other, VIZ) < floor_of(own, VIZ) else "it is not on a floor below"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_follow_the_design(path):
    for line, module, _ in imports(path):
        reason = forbidden(name_of(path), module)
        assert not reason, f"{where(path, line)} imports {module}: {reason}"


@pytest.mark.parametrize(("importer", "imported"), [
    ("viz.components.head_view", "viz.widgets.fields"),
    ("viz.components.chart", "viz.handout.tables"),
    ("viz.figures.bars", "streamlit"),
    ("viz.figures.bars", "viz.state"),
    ("viz.print.page", "viz.export"),
    ("viz.handout.page", "viz.export.csv"),
    ("viz.widgets.lesson", "viz.pages.block"),
    ("viz.pages.heads.colours", "viz.pages.measures.corpus"),
    ("viz.pages.softmax", "model.scratch.train"),
    ("viz.pages.softmax", "torch"),
    ("viz.link", "streamlit"),
    ("viz.export.csv", "model.ask.sources"),
    ("app", "model.studies.patching"),
    ("model.core.heads", "model.studies.patterns"),
    ("model.core.record", "viz.text"),
    ("model.core.measures", "plotly.graph_objects"),
    ("model.studies.patterns", "model.capture.verify"),
    ("model.scratch.models", "model.pretrained.load"),
    ("model.imported.source", "model.ask.jobs"),
    ("model.pretrained.model", "model.lessons.contexts"),
    ("model.lessons.cost", "model.training.film"),
    ("model.lessons.cost", "transformers"),
    ("model.core.record", "pandas"),
    ("model.core.heads", "pandas"),
    ("viz.components.head_grid", "pandas"),
    ("model.lessons.mds", "scipy.spatial"),
    ("model.ask.models", "model.cli.progress"),
])
def test_the_rules_name_what_the_design_forbids(importer, imported):
    assert imported in MODULES or imported.split(".")[0] in PACKAGES
    assert importer in MODULES and forbidden(importer, imported)


def test_no_file_imports_in_a_circle():
    graph = {name: {module for _, module, _ in imports(path) if module in MODULES} - {name}
             for name, path in MODULES.items()}
    reached = {name: _reached(graph, name) for name in graph}
    circles = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph
               if name in reached[name]}
    assert not circles, "files import one another: " + "; ".join(" and ".join(sorted(each)) for each in circles)


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Everything that `start` imports, directly or through others."""
    found, todo = set(), [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


@pytest.mark.parametrize("path", [path for path in FILES if path.name == "__init__.py"], ids=name_of)
def test_a_package_gives_no_other_thing_the_name_of_one_of_its_files(path):
    """`package.name` would be the file or the other thing, whichever was bound last."""
    files = {each.stem for each in path.parent.iterdir() if each.suffix == ".py" or each.is_dir()}
    bound: dict[str, int] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound[node.name] = node.lineno
        elif isinstance(node, ast.ImportFrom):
            own = f"{name_of(path)}."
            bound |= {each.asname or each.name: node.lineno for each in node.names
                      if f"{node.module}.{each.name}" != own + (each.asname or each.name)}
        elif isinstance(node, (ast.Import, ast.Assign, ast.AnnAssign)):
            named = [each.asname or each.name for each in node.names] if isinstance(node, ast.Import) else [
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
            bound |= dict.fromkeys(named, node.lineno)
    both = sorted(files & set(bound))
    assert not both, f"{where(path, bound[both[0]])} binds {both[0]}, also a file beside it; rename one of them"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_heavy_packages_are_imported_where_they_are_used(path):
    """The first page must not wait for what it does not use."""
    heavy = ["transformers", "matplotlib", "pandas", "scipy"]
    heavy += [] if under(name_of(path), *MADE_OF_TORCH) else ["torch"]
    for line, module, top in imports(path):
        heavy_top = top and under(module, *heavy)
        assert not heavy_top, f"{where(path, line)} imports {module} at its top; move it into a function"


@pytest.mark.parametrize("path", [*FILES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_500_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES, ROOT / ".streamlit" / "config.toml"],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_no_view_reaches_for_another_machine(path):
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org", "")
    assert "http://" not in text and "https://" not in text


# tests that have no one file to stand beside, and why
CROSSING = {
    "model/test_refusals.py": "questions that models of every kind refuse",
    "model/test_threads.py": "models of every kind, in several threads",
    "model/ask/test_any_text.py": "every source of models, with any text",
    "model/ask/test_clocks.py": "everything that reads the time",
    "model/capture/test_edits.py": "what an edit does to models of every kind",
    "model/module/test_hostile.py": "whatever a notebook hands to look and show",
    "model/pretrained/test_families_eager.py": "a sample of families through the whole folder",
    "model/pretrained/test_faults.py": "what is broken in a model's folder or on the way to it",
    "model/pretrained/test_hostile_folders.py": "every file of a stranger's folder",
    "model/pretrained/test_minilm.py": "the model that is there from the start",
    "viz/components/test_engines_have.py": "all that runs in a browser",
    "viz/components/test_hostile_messages.py": "every component's messages",
    "viz/export/test_formats.py": "the contract of every format",
    "viz/export/test_numbers.py": "the formats that hold numbers",
    "viz/test_hostile_files.py": "every file of a stranger",
    "viz/test_hostile_links.py": "every address",
    "viz/test_hostile_markdown.py": "every place that reads Markdown",
    "viz/test_nothing_runs.py": "every file that leaves the app",
    "viz/test_sheet_softmax.py": "assets/text/en/sheets",
    "viz/test_sheets.py": "assets/text/en/sheets",
}
TESTS = [path for room in ("model", "viz") for path in sorted((ROOT / "tests" / room).rglob("test_*.py"))]


def standing_beside(path: Path) -> list[Path]:
    """What a test of this name would test: a file or a folder beside, the folder itself, or its `__main__`."""
    name, folder = path.stem.removeprefix("test_").removesuffix("_in_browser"), path.parent.relative_to(ROOT / "tests")
    beside = [folder / f"{name}.py", folder / f"{name}.js", folder / name, folder / f"__{name}__.py"]
    return [each for each in beside if (ROOT / each).exists()] + [folder] * (name in (folder.name, "in_browser"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.relative_to(ROOT / "tests").as_posix())
def test_a_test_stands_where_the_tested_file_stands(path):
    name = path.relative_to(ROOT / "tests").as_posix()
    assert standing_beside(path) or name in CROSSING, f"{name} tests no file of its name; move it to the one it tests"


def test_the_tests_that_cross_files_are_there():
    names = {path.relative_to(ROOT / "tests").as_posix(): path for path in TESTS}
    assert not set(CROSSING) - set(names) and not [name for name in CROSSING if standing_beside(names[name])]
