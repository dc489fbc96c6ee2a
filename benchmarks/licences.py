"""The licence of everything that a requirements file brings, as the installed packages' own metadata state it: python
-m benchmarks.licences"""
import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import click
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent


class Package(NamedTuple):
    """for_whom: the requirement that brings it first; its own name where the file names it."""

    name: str
    version: str
    licence: str
    for_whom: str


def named(path: Path) -> list[Requirement]:
    """Return what the file names itself, without the files that it includes."""
    return [Requirement(line) for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] not in "-#"]


def brought(path: Path) -> list[Package]:
    """Return everything that these requirements need here, each once, by name. Left out is what is not installed, as
    another system would need it."""
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
    """Return the text of the first licence file that the metadata name; "" where they name none."""
    names = package.metadata.get_all("License-File") or ()
    return next((file.read_text(encoding="utf-8") for name in names for file in package.files or ()
                 if str(file).endswith(f".dist-info/licenses/{name}")), "")


def licence_of(metadata, text: str = "") -> str:
    """Return the SPDX expression where there is one (PEP 639), else the classifiers, else the first line of the
    licence's text, in the metadata or in a file beside them."""
    approved = "License :: OSI Approved :: "
    classified = "; ".join(each.removeprefix(approved) for each in metadata.get_all("Classifier") or ()
                           if each.startswith(approved))
    return metadata.get("License-Expression") or classified or next(
        iter((metadata.get("License", "") or text).strip().splitlines()), "not stated")


@click.command()
@click.argument("path", default=ROOT / "requirements.txt", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(path: Path) -> None:
    """Print package, version, licence and what brings it, for all that requirements.txt (or PATH) brings."""
    packages = brought(path)
    for each in packages:
        whose = "" if each.for_whom == each.name else each.for_whom
        click.echo(f"{each.name:<28}{each.version:<16}{each.licence:<62}{whose}".rstrip())
    click.echo(f"{len(packages)} packages")


if __name__ == "__main__":
    main()
