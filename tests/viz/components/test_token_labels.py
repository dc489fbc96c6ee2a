from tests import fabricate
from viz.components.token_labels import JOINED, SPECIAL, UNKNOWN, token_axis


def test_flags_say_special_unknown_and_joined():
    axis = token_axis(fabricate.tokens(["[CLS]", "flood", "ed", "[UNK]", "[SEP]"], words=[-1, 0, 0, 1, -1]))
    assert axis["flags"] == [SPECIAL, 0, JOINED, UNKNOWN, SPECIAL]
    assert axis["segments"] == [-1, 0, 0, 0, -1]
