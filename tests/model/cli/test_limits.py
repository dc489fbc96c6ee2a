"""python -m model limits."""
import json

from click.testing import CliRunner

from model.__main__ import main
from model.core.limits import LIMITS, as_rows


def test_the_command_shows_every_limit_with_its_setting():
    assert json.loads(CliRunner().invoke(main, ["limits", "--json"]).stdout) == as_rows(LIMITS)
    lines = CliRunner().invoke(main, ["limits"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [row["name"] for row in as_rows(LIMITS)]
    assert all(row["setting"] in line for row, line in zip(as_rows(LIMITS), lines, strict=True))
