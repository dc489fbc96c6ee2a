"""An atlas that was made before, opened as any other question: it is read again only when its folder changes."""
from dataclasses import dataclass
from pathlib import Path

from model.core.models import Models
from model.core.query import UserError, quoted
from model.core.types import Progress
from model.studies.atlas.files import open_atlas
from model.studies.atlas.tables import Atlas

LAST = "run.json"   # is written last


@dataclass(frozen=True)
class AtlasFolderQuery:
    """The atlas in a folder, as `python -m model atlas build` left it."""

    folder: str   # its path
    written: int  # when, in nanoseconds of the file system's clock

    def answer(self, models: Models, report: Progress) -> Atlas:
        """The atlas. Raises UserError where there is none that is whole."""
        return open_atlas(Path(self.folder))


def atlas_folder(path: str, local: bool = True) -> AtlasFolderQuery:
    """The question for the folder as it is now. local: whether folders of this machine may be opened. Raises UserError
    where none may, and where no whole atlas is."""
    if not local:
        raise UserError(f"{quoted(path)} is no model that this server has, and it opens no folders; choose one from "
                        f"the list.")
    try:
        folder = Path(path).expanduser()   # RuntimeError: a home that is not there
        return AtlasFolderQuery(str(folder), (folder / LAST).stat().st_mtime_ns)
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{quoted(path)} holds no whole atlas; make one with: python -m model atlas build CORPUS "
                        f"--model ID --out FOLDER") from error
