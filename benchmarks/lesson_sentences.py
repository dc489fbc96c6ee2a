"""How many sentences of lessons their tests read: `python -m benchmarks.lesson_sentences [LESSON …]`.

Counted are pairs of a sentence (notice, folded notice, or what stands in for a picture) and a position of the page's
controls at which a test read it; sentences that a test had from the page's claims without the page count apart. Below
each lesson stands what no test visits: an end of a control, everything between its ends, a choice, a side of a switch;
and sentences that no test reads at any position. CLEARHEAD_HYPOTHESIS=long counts the longer sweep. """
import argparse
import sys
from pathlib import Path

import pytest

from tests.lesson_tally import TALLY
from viz.page import pages
from viz.page_controls import Choice, Control, Number, Switch
from viz.widgets.lesson import lessons

FOLDER = Path("tests", "viz", "pages")
ASKING = ("guess", "check_")   # controls that hold an answer; its words do not depend on it


def files_of(lesson: str) -> list[str]:
    """The files that test the sentences of a lesson."""
    found = [FOLDER / f"test_{lesson}.py", FOLDER / lesson]
    return [str(each) for each in found if each.exists()]


def unvisited(control: Control, values: set) -> list[str]:
    """What of a control no test visited."""
    if isinstance(control, Number):
        between = any(control.low < value < control.high for value in values)
        ends = [f"{control.name} = {end:g}" for end in (control.low, control.high) if end not in values]
        return ends + ([] if between else [f"{control.name} between its ends"])
    if isinstance(control, Choice):
        return [f"{control.name} = {option}" for option in control.options if option not in values]
    if isinstance(control, Switch):
        return [f"{control.name} {'on' if side else 'off'}" for side in (True, False) if side not in values]
    return [] if len(values) > 1 else [f"{control.name} moved"]


def lines_of(lesson: str) -> list[str]:
    """What is printed of a lesson."""
    positions, values = TALLY.positions[lesson], TALLY.values[lesson]
    pairs = sum(len(each.read & each.there) for each in positions)
    there, read = (set().union(*(getattr(each, kind) for each in positions)) for kind in ("there", "read"))
    missing = [each for control in pages()[lesson][0].controls if not control.name.startswith(ASKING)
               for each in unvisited(control, values[control.name])]
    return [f"{lesson:12} {len(positions):4} positions {pairs:6} sentences read there"
            f" {TALLY.apart[lesson]:6} read apart, {len(read & there)} of {len(there)} places",
            *([f"    not visited: {', '.join(missing)}"] if missing else []),
            *([f"    not read: {', '.join(sorted(there - read))}"] if there - read else [])]


def main() -> None:
    """Runs the tests and prints the count."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("lessons", nargs="*", default=lessons())
    names = options.parse_args().lessons
    files = [file for name in names for file in files_of(name)]
    failed = pytest.main(["-n", "0", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning", *files])
    print(*(line for name in names for line in lines_of(name)), sep="\n")
    pairs = sum(len(each.read & each.there) for name in names for each in TALLY.positions[name])
    apart = sum(TALLY.apart[name] for name in names)
    print(f"together: {pairs:,} pairs of a sentence and a position, {apart:,} sentences apart, "
          f"{len(names)} lessons, {sum(len(TALLY.positions[name]) for name in names):,} positions")
    sys.exit(failed)


if __name__ == "__main__":
    main()
