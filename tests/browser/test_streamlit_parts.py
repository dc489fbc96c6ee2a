"""Streamlit's own elements where its style is not enough: words on a primary button, and formulas that stand out of
their line."""
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.watch import PATIENCE
from viz import theme as colours

CUT = """() => [...document.querySelectorAll('.katex-display')]
    .filter((each) => each.scrollHeight > each.clientHeight).length"""
WORN = """(button) => [getComputedStyle(button).color, getComputedStyle(button).backgroundColor]"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_on_a_primary_button_can_be_read(watch, scheme):
    seen = watch(scheme=scheme)
    page = seen.page
    page.goto(seen.address + "/explain")
    button = page.locator("[data-testid^=stBaseButton-primary]").first
    expect(button).to_be_visible(timeout=PATIENCE)
    worn = np.array([[int(part) for part in re.findall(r"\d+", each)[:3]] for each in button.evaluate(WORN)])
    darker, lighter = sorted(colours.luminance(worn))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_no_formula_is_cut_off_above_or_below(watch):
    page = watch("/inside?guess=a&step=softmax").page
    expect(page.locator(".katex-display").first).to_be_visible(timeout=PATIENCE)
    assert page.evaluate(CUT) == 0
