"""The section that quotes scaling laws: how many parameters for a given computation."""
from typing import Any

import numpy as np

from model.lessons import since
from viz.figures.lines import Line, lines
from viz.format import format_number
from viz.page import PageContext
from viz.widgets.control_widgets import slider_for
from viz.widgets.figure import figure
from viz.widgets.lesson import Lesson

SPAN = np.geomspace(1e18, 1e27, 91)
LAWS = {"kaplan": since.kaplan, "hoffmann": since.HOFFMANN.best, "besiroglu": since.BESIROGLU.best}
COLOURS, DASHES = (1, 0, 4), ("dash", "dot", "solid")


def scaling_section(page: PageContext, lesson: Lesson) -> None:
    """Three published laws and the one model that is known by its name."""
    words = lesson.prose["scaling"]
    with lesson.section("scaling"):
        slider_for(page, "compute", words["compute"], [18 + step / 2 for step in range(19)], say=said_power)
        power = said_power(page.controls["compute"])
        compute = 10.0 ** page.controls["compute"]
        drawn = [Line(words["names"][name], law(SPAN)[0], colour, dash)
                 for (name, law), colour, dash in zip(LAWS.items(), COLOURS, DASHES, strict=True)]
        here = {name: tuple(map(float, law(compute))) for name, law in LAWS.items()}
        numbers: dict[str, Any] = {f"{name}_n": found[0] for name, found in here.items()}
        numbers |= {f"{name}_said": said_count(found[0], words["scales"]) for name, found in here.items()}
        numbers |= {f"{name}_ratio": found[1] / found[0] for name, found in here.items()}
        numbers |= {f"{name}_loss": float(law.loss(*here[name]))
                    for name, law in (("hoffmann", since.HOFFMANN), ("besiroglu", since.BESIROGLU))}
        figure(lambda theme: lines(theme, SPAN, drawn, axes=(words["operations"], words["parameters"]), log="xy",
                                   marks=[(compute, power)], height=380),
               key="since-scaling", alt=lesson.alt("scaling", power=power, **numbers))
        lesson.explanation("scaling", shown=(since.kaplan, since.Law.loss, since.Law.best),
                           power=power, **numbers)


def said_count(count: float, words: list[str]) -> str:
    """A large number with two digits that count and its word; words: for 10⁶, 10⁹, 10¹², 10¹⁵."""
    power = min(len(words), max(1, int(np.log10(count) // 3) - 1))
    return f"{format_number(count / 1000**(power + 1), 2)} {words[power - 1]}"


def said_power(power: float) -> str:
    """10 to this power, as people write it: 10²⁴, 10²³·⁵."""
    return "10" + f"{power:g}".translate(str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹·"))
