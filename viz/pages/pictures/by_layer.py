"""What holds of all heads, layer by layer: how far they look, how evenly, how much stays on tokens that are no
patch."""
from typing import Any

import numpy as np
import streamlit as st

from model.core.record import AttentionRecord
from model.core.view import View
from model.studies.patch_attention import MEASURES, PatchHeads, PatchHeadsQuery
from viz.figures.heads import by_layer
from viz.format import format_number, head_label
from viz.page import PageContext
from viz.text import strings
from viz.theme import READABLE_WIDE
from viz.widgets.control_widgets import choice_for
from viz.widgets.figure import figure


def layers_section(page: PageContext, record: AttentionRecord, view: View) -> None:
    """The measure that is chosen, a dot a head, beside what an even row gives."""
    words = strings("pictures")["layers"]
    found: PatchHeads = page.ask(PatchHeadsQuery(record.query, view.kind))
    choice_for(page, "measure", words["measure"], {name: words["names"][name] for name in MEASURES})
    name = page.controls["measure"]
    values, even = getattr(found, name), found.even[name]
    if not np.isfinite(values).any():
        st.markdown(words["none"])
        return
    facts = _facts(found, name)
    figure(lambda theme: by_layer(theme, found.heads, values, axes=(words["layer"], words["axes"][name]),
                                  names=(words["heads"], words["mean"]), line=(words["even"], values * 0 + even),
                                  marked=(view.layer, view.head)),
           key=f"pictures-{name}", alt=words["alt"].format(**facts))
    st.markdown(words["range"].format(**facts), width=READABLE_WIDE)
    st.caption(words["about"][name], width=READABLE_WIDE)


def _facts(found: PatchHeads, name: str) -> dict[str, Any]:
    """What is said of a measure: the layers with the smallest and the largest mean, the head with the least."""
    words, values = strings("pictures")["layers"], getattr(found, name)
    of_layer = found.frame().groupby("layer")[name].mean()
    return {"name": words["names"][name], "even": format_number(found.even[name]), "unit": words["units"][name],
            "layers": len(of_layer), "low_layer": int(of_layer.idxmin()), "low": format_number(of_layer.min()),
            "high_layer": int(of_layer.idxmax()), "high": format_number(of_layer.max()),
            "lowest": head_label(*found.heads[int(np.nanargmin(values))]),
            "lowest_value": format_number(float(np.nanmin(values)))}
