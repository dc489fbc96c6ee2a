"""An atlas in a folder as a question."""
import pytest

from model.ask import sources
from model.core.query import UserError
from model.studies.atlas.build import atlas_of
from model.studies.atlas.files import atlas_folder, write_atlas
from tests.model.studies.atlas.made import SAID, summary


def test_a_folder_is_read_once_and_again_when_it_is_written_anew(tmp_path):
    write_atlas(tmp_path, atlas_of(summary(range(8)), SAID), {})
    asked = atlas_folder(str(tmp_path))
    assert sources.ask(asked).result(60).about["texts"] == 8 and atlas_folder(str(tmp_path)) == asked
    write_atlas(tmp_path, atlas_of(summary(range(12)), SAID), {})
    assert sources.ask(atlas_folder(str(tmp_path))).result(60).about["texts"] == 12


@pytest.mark.parametrize("path", ["", "nonsense", "~nobody-of-this-name/atlas", "a\0b", "x" * 5000])
def test_what_holds_no_atlas_is_said_with_the_command_that_makes_one(path):
    with pytest.raises(UserError, match=r"holds no whole atlas; make one with: python -m model atlas build"):
        atlas_folder(path)


def test_a_server_for_strangers_opens_no_folders(tmp_path):
    write_atlas(tmp_path, atlas_of(summary(range(8)), SAID), {})
    with pytest.raises(UserError, match="opens no folders"):
        atlas_folder(str(tmp_path), local=False)
