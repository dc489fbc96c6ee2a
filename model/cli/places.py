"""What a command writes is nothing that it reads."""
from contextlib import suppress
from pathlib import Path

import click

from model.core import files
from model.core.query import UserError


def refuse_overwriting(out: Path, model_id: str, *read: Path) -> None:
    """Raises click.UsageError where the file to be written is one of `read` or of the model's, by whatever name or
    link."""
    try:
        files.refuse_overwriting(out, *read, *_files_of(model_id))
    except UserError as error:
        raise click.UsageError(str(error)) from error


def _files_of(model_id: str) -> tuple[Path, ...]:
    """The GGUF file that the id names, or the files of its folder; nothing for a name of the catalogue or of a hub."""
    with suppress(OSError, ValueError, RuntimeError):   # what no system takes as a path
        path = Path(model_id).expanduser()
        return tuple(path.iterdir()) if path.is_dir() else (path,)
    return ()
