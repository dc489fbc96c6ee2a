"""All dependencies are pinned, and docs/dependencies.md states the reason and the licence of each."""
import re
import tomllib
from email.message import Message

import pytest
from packaging.requirements import Requirement

from benchmarks.licences import ROOT, brought, licence_of, named


class About(Message):
    """As Python 3.12 announces a package's metadata: a key that is missing is an error."""

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        return super().__getitem__(name)


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


def test_licence_of_a_package_is_read():
    about = About()
    about["License"] = "A licence of one's own\n\nText."
    assert licence_of(about) == licence_of(about, "Another") == "A licence of one's own"
    about["Classifier"] = "License :: OSI Approved :: MIT License"
    assert licence_of(about) == "MIT License"
    about["License-Expression"] = "MIT"
    assert licence_of(about) == "MIT"
    assert licence_of(About()) == "not stated" and licence_of(About(), "MIT License\n\nText.") == "MIT License"
