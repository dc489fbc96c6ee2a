"""Run a lesson's page without a browser and return its texts and numbers for any setting of its controls."""
import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from streamlit.testing.v1 import AppTest

from clearhead.viz.app.page import PageContext
from clearhead.viz.widgets import figure as figure_module
from clearhead.viz.widgets.lesson import Lesson, Section
from tests.grey import alike_in_grey


@dataclass
class Shown:
    """One run of a lesson's page."""

    notices: dict[str, list[str]] = field(default_factory=dict)          # notices by section, filled in
    more: dict[str, list[str]] = field(default_factory=dict)             # folded notices by section, filled in
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)     # by section: the values filled in
    alts: dict[str, str] = field(default_factory=dict)                   # alternative texts by figure key
    charts: dict[str, dict] = field(default_factory=dict)                # plotly charts by figure key
    confused: list[str] = field(default_factory=list)                    # series that look alike in greyscale
    unnamed: list[str] = field(default_factory=list)                     # matrices with cells that have no names
    asked: bool = False                                                  # whether model and text were used
    unseen: list[str] = field(default_factory=list)                      # errors: used, but not shown in the sidebar
    words: list[str] = field(default_factory=list)                       # all Markdown, captions and labels on the page


def run_page(name: str, controls: dict, state: dict) -> None:
    """Draw a page as the app does, with these controls and fields of the state: the script of an AppTest."""
    from clearhead.viz.app.page import PageContext, pages, with_controls
    from clearhead.viz.app.session import session
    from clearhead.viz.app.state import State
    from clearhead.viz.widgets.fragment import errors_as_sentences
    from clearhead.viz.widgets.picture import fit_question

    about, render = pages()[name]
    session().state = with_controls(State(**state), name, about, controls)
    page = PageContext(name, about, {})
    fit_question(page)
    with errors_as_sentences(page):
        render(page)


@contextmanager
def _noted(shown: Shown) -> Iterator[None]:
    explain, chart, query = Section.explain, figure_module.chart, PageContext.query

    def unfolded(self: Lesson, draw: Callable[..., None], *given: Any, **how: Any) -> None:
        draw(self.page, self, *given)

    def explained(self: Section, *functions: Any, **given: Any) -> None:
        explain(self, *functions, **given)
        shown.numbers[self.name] = dict(self.facts)
        for kind, kept in (("notice", shown.notices), ("more", shown.more)):
            kept[self.name] = [line.format(**self.facts) for line in self.get(kind, ())]

    def drawn(spec: dict, *, key: str, **given: Any) -> None:
        shown.confused += [f"{key}: {pair}" for pair in alike_in_grey(spec)]
        shown.unnamed += [key for trace in spec["data"] if "z" in trace and "customdata" in trace
                          and np.shape(trace["customdata"])[:2] != array(trace["z"]).shape]
        shown.charts[key.removeprefix("chart-")] = spec
        shown.alts[key.removeprefix("chart-")] = given.get("alt", "")
        chart(spec, key=key, **given)

    def asked(self: PageContext, *edits: Any, **changes: Any) -> Any:
        shown.asked = True
        if not self.about.asks_with(self.controls):
            shown.unseen.append(f"{self.name} uses a model and a text that its sidebar does not show")
        return query(self, *edits, **changes)

    with patch.object(Section, "explain", explained), patch.object(figure_module, "chart", drawn), \
            patch.object(PageContext, "query", asked), patch.object(Lesson, "further", unfolded):
        yield


def array(value: Any) -> np.ndarray:
    """Decode an array of a plotly chart."""
    if isinstance(value, dict):
        shape = [int(each) for each in str(value.get("shape", -1)).split(",")]
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).astype(float).reshape(shape)
    return np.array(value, float)


def shown(name: str, show: bool = False, **controls: Any) -> Shown:
    """Run the page of lesson `name` with these controls and defaults for the others, with all folds open. show: as if
    *Show me* had been pressed. Pass guess="a" to answer the question and reveal what it covers.

    Fails if the page fails, if two series of a chart look alike in greyscale, if a cell of a matrix has no name, or if
    a model is used that the sidebar does not show.
    """
    found = Shown()
    with _noted(found):
        app = AppTest.from_function(run_page, args=(name, controls, {"show": show}), default_timeout=120).run()
    assert not app.exception and not app.error, (app.exception, app.error)
    assert not found.unseen, found.unseen
    assert not found.confused, f"by their colours alone differ {'; '.join(found.confused)}"
    assert not found.unnamed, found.unnamed
    found.words = [each.value for kind in ("markdown", "caption", "info", "warning") for each in app.get(kind)]
    found.words += [each.label for kind in ("radio", "button", "toggle", "segmented_control") for each in app.get(kind)]
    return found
