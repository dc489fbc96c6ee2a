"""What a caption says of the check behind a picture."""
from dataclasses import replace

from model.core.record import Verification
from tests.fabricate import record
from viz.provenance import sentences
from viz.widgets.verification import badge_label


def test_caption_and_badge_quote_the_difference_of_this_pass_and_not_that_at_load():
    checked = Verification("verified", max_error=4.2e-7, load_error=1.4e-6)
    shown = replace(record(4), verification=checked)
    assert sentences(shown)[1][-1] == "verified, in this pass within 4e-07 of the model's own output"
    assert badge_label(shown) == "✓ verified · this pass 4e-07"


def test_what_was_not_measured_is_not_quoted():
    lines = sentences(replace(record(4), verification=Verification("imported", load_error=1.4e-6)))[1]
    assert lines[-1] == "imported from a file, not verified"
