"""List the licences of all packages that a requirements file installs, from their own metadata:
python -m tools.licences"""
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import click
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


class Package(NamedTuple):
    """An installed package. for_whom: the first requirement that needs it, or its own name if the file lists it."""

    name: str
    version: str
    licence: str
    for_whom: str


def named(path: Path) -> list[Requirement]:
    """Return the requirements in a file, without those of included files."""
    return [Requirement(line) for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] not in "-#"]


def brought(path: Path) -> list[Package]:
    """Return all packages that these requirements need here, sorted by name. Packages that are not installed are left
    out, because only other systems need them."""
    waiting, found = [(each, each.name) for each in named(path)], {}
    while waiting:
        asked, origin = waiting.pop(0)
        try:
            known = distribution(asked.name)
        except PackageNotFoundError:
            continue
        name = re.sub(r"[-_.]+", "-", known.name).lower()
        if (name, *sorted(asked.extras)) in found:
            continue
        found[name, *sorted(asked.extras)] = Package(
            name, known.version, licence_of(known.metadata, licence_file(known)), origin)
        for line in known.requires or ():
            more = Requirement(line)
            if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in ("", *asked.extras)):
                waiting.append((more, origin))
    return sorted({each.name: each for each in reversed(found.values())}.values())


def licence_file(package: Distribution) -> str:
    """Return the text of the first licence file in a package's metadata, or "" if there is none."""
    names = package.metadata.get_all("License-File") or ()
    return next((file.read_text(encoding="utf-8") for name in names for file in package.files or ()
                 if str(file).endswith(f".dist-info/licenses/{name}")), "")


def licence_of(metadata, text: str = "") -> str:
    """Return the SPDX expression (PEP 639) if there is one, else the classifiers, else the first line of the licence
    text in the metadata or in `text`."""
    approved = "License :: OSI Approved :: "
    classified = "; ".join(each.removeprefix(approved) for each in metadata.get_all("Classifier") or ()
                           if each.startswith(approved))
    return metadata.get("License-Expression") or classified or next(
        iter((metadata.get("License", "") or text).strip().splitlines()), "not stated")


@click.command()
@click.argument("path", default=ROOT / "requirements.txt", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(path: Path) -> None:
    """Print the package, version, licence and requirement of everything that requirements.txt (or PATH) installs."""
    packages = brought(path)
    for each in packages:
        whose = "" if each.for_whom == each.name else each.for_whom
        click.echo(f"{each.name:<28}{each.version:<16}{each.licence:<62}{whose}".rstrip())
    click.echo(f"{len(packages)} packages")


if __name__ == "__main__":
    main()
