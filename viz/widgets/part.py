"""A part of a page: its texts, the facts that fill them, and the widgets, tables and figures that they name."""
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from clearhead.viz.app.page import PageContext
from clearhead.viz.figures.drawing import FigureSpec
from clearhead.viz.style.format import markdown_table
from clearhead.viz.style.text import Texts
from clearhead.viz.style.theme import READABLE_WIDE
from clearhead.viz.widgets.fields import bind, button_setting, choice_for, slider_for, text_for, toggle_for
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.layout import flex_row, heading


class Part(Texts):
    """The texts of a part of a page, which are filled with facts: the values of the page's controls, and what `tell`
    adds. The text with a control's name is its widget's label, and NAME_help its help. A figure is described by the
    text `alt`, or else by its axes, which `axes` names; other figures have a kind, and the texts alt_KIND and
    axes_KIND."""

    def __init__(self, page: PageContext, texts: Texts, **facts: object) -> None:
        super().__init__(texts)
        self.page, self.told = page, facts

    @property
    def facts(self) -> dict[str, object]:
        """What may be filled into the texts. The controls are read anew, because a fragment may run alone."""
        return self.page.controls | self.told

    def __call__(self, name: str, /, **fields: object) -> str:
        """Return a text with the part's facts and these filled in."""
        return super().__call__(name, **self.facts | fields)

    def tell(self, **facts: object) -> None:
        """Add facts, which the texts may name: {found.mean:.2f} formats a field of the fact `found`."""
        self.told |= facts

    def opening(self, level: int = 5, width: int = READABLE_WIDE) -> None:
        """Draw the part's title and its lead. width: of the lead in pixels."""
        heading(self["title"], level)
        st.markdown(self("lead"), width=width)

    def _declared(self, control: str) -> Any:
        """Return the declaration of a control."""
        return next(each for each in self.page.about.controls if each.name == control)

    def slider(self, control: str, options: Iterable[float] = (), **look: Any) -> Any:
        """Draw a slider, and return its value: over these options only, or over those of the control, to which a link
        may add another. look: as in `slider_for`."""
        among = tuple(options)
        return slider_for(self.page, control, self[control], among or self._declared(control).options,
                          help=self.get(f"{control}_help"), closed=bool(among), **look)

    def choice(self, control: str, options: str) -> Any:
        """Draw a choice among the values of the table self[options], {value: label}, and return the value."""
        return choice_for(self.page, control, self[control], self[options])

    def toggle(self, control: str) -> bool:
        """Draw a switch, and return whether it is on."""
        return toggle_for(self.page, control, self(control), help=self.get(f"{control}_help"))

    def text(self, control: str, draw: Callable[..., Any] = st.text_input, **look: Any) -> str:
        """Draw a text field and return its text. look: as in `draw`."""
        value = self.page[control]
        draw(self[control], max_chars=self._declared(control).longest, help=self.get(f"{control}_help"),
             **bind(self.page.set, control, value), **look)
        return value

    def field(self, control: str, **look: Any) -> None:
        """Draw a text field in which a text that is too long stays, with a sentence below. look: as in `text_for`."""
        text_for(self.page, control, self[control], self._declared(control).longest,
                 help=self.get(f"{control}_help"), **look)

    def presets(self, control: str, values: Mapping[str, object]) -> None:
        """Draw a row of buttons, named in the table `presets`, that set a control to one of these values."""
        with flex_row(gap="small"):
            for name, value in values.items():
                button_setting(self.page, self["presets"][name], f"{control}-{name}", **{control: value})

    def figure(self, draw: Callable[..., FigureSpec], *given: object, key: str, kind: str = "", **options: Any) -> None:
        """Draw a figure as `figure` does, described by the facts told so far. kind: which of the part's figures; "" for
        the first."""
        which = f"_{kind}" if kind else ""
        if f"axes{which}" in self:
            options.setdefault("axes", tuple(axis.format(**self.facts) for axis in self[f"axes{which}"]))
        alt = self.get(f"alt{which}") or " over ".join(filter(None, reversed(options["axes"])))
        alt = re.sub(r"\\(.)", r"\1", alt.format(**self.facts))   # facts may be escaped for Markdown
        figure(draw, *given, key=key, alt=alt, **options)

    def table(self, rows: Iterable[Iterable[str]], head: str = "table_head", *, numbers: bool = True) -> None:
        """Draw a table under the header self(head). numbers: whether all columns but the first are right-aligned."""
        drawn = markdown_table(self(head), rows)
        st.markdown(drawn if numbers else drawn.replace("---:", "---"))
