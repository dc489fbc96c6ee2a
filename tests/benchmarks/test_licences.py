"""All dependencies are pinned, and docs/dependencies.md states the reason and the licence of each."""
import re
import tomllib

import pytest
from packaging.requirements import Requirement

from benchmarks.licences import ROOT, brought, named


@pytest.mark.rest
def test_requirements_are_pinned_and_listed():
    table = dict(re.findall(r"^\| ([\w.-]+ [\w.]+) \| [^|]{5,} \| ([^|]+) \|$",
                            (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8"), re.MULTILINE))
    files = [ROOT / f"requirements{kind}.txt" for kind in ("", "-dev", "-ray", "-docs")]
    licences = {each.name: each.licence for path in files for each in brought(path)}
    asked = [each for path in files for each in named(path)]
    assert len(asked) > 20 and {f"{each.name} {str(each.specifier).removeprefix('==')}" for each in asked} == set(table)
    assert all(re.fullmatch(r"==[\w.]+", str(each.specifier)) for each in asked)
    assert {name.split()[0]: licence
            for name, licence in table.items()} == {each.name: licences[each.name] for each in asked}
    # what PyPI's torch brings on Linux for NVIDIA's processors: it holds nothing, and only requires others
    assert {name for name, licence in licences.items() if licence == "not stated"} <= {"cuda-toolkit"}


def test_wheel_asks_for_ranges_that_hold_every_pin():
    ranges = [Requirement(line) for line in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"]["dependencies"]]
    pins = {each.name: str(each.specifier).removeprefix("==") for each in named(ROOT / "requirements.txt")}
    assert {each.name for each in ranges} == pins.keys()
    assert all(each.specifier.contains(pins[each.name]) for each in ranges)


def test_bundled_packages_are_listed_under_their_package():
    found = {each.name: each for each in brought(ROOT / "requirements.txt")}
    assert found["starlette"].for_whom == "streamlit" and found["torch"].for_whom == "torch" and "pytest" not in found
