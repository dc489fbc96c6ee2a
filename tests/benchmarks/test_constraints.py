"""constraints.txt pins everything that the requirements install, in versions that exist on every system."""
import re

import pytest

from benchmarks.constraints import FILES, ROOT, elsewhere, versions
from benchmarks.licences import named

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
