"""The limits: their settings, and the sentence of what exceeds one."""
import pytest

from model.core.limits import MB, Limits, from_environment, setting_of
from model.core.query import UserError


def test_settings_change_their_limit_and_no_other():
    changed = from_environment({"CLEARHEAD_IMPORT_MB": "0.5", "CLEARHEAD_TOKENS": " 7 ", "CLEARHEAD_CACHE_MB": "",
                                "CLEARHEAD_LONGEST_WAIT": "2.5", "CLEARHEAD_TRAININGS": "0"})
    assert changed == Limits(import_bytes=MB // 2, tokens=7, longest_wait=2.5, trainings=0)


@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "0", "1e400", "9" * 5000, "1,5", "٣x"])
@pytest.mark.parametrize("name", ["tokens", "import_bytes"])
def test_a_setting_that_is_no_number_is_one_sentence(text, name):
    with pytest.raises(UserError, match=rf"^{setting_of(name)} is .* must be a number above 0; [^\n]*\.$"):
        from_environment({setting_of(name): text})


def test_what_exceeds_says_the_value_the_limit_and_its_setting_if_it_has_one():
    Limits(tokens=5).refuse_above("tokens", 5, "mine.npz", "save fewer layers")
    with pytest.raises(UserError, match=r"^mine has 8,000 tokens and the limit is 5; x, or set CLEARHEAD_TOK"):
        Limits(tokens=5).refuse_above("tokens", 8_000, "mine", "x")
    with pytest.raises(UserError, match=r"has 1\.01 MB and the limit is 1 MB; x, or set CLEARHEAD_FILE_MB higher\.$"):
        Limits(file_bytes=MB).refuse_above("file_bytes", MB + 1, "mine", "x")
    with pytest.raises(UserError, match=r" levels and the limit is 64; x\.$"):
        Limits().refuse_above("depth", 10**5000, "mine", "x")
