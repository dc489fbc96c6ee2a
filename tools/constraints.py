"""Print the content of constraints.txt for the packages installed here: python -m tools.constraints"""
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click
from packaging.requirements import Requirement
from packaging.version import Version

from tools.licences import ROOT, brought, named

FILES = tuple(ROOT / f"requirements{kind}.txt" for kind in ("", "-dev", "-ray", "-docs"))
TOOLS = {"pip", "setuptools"}   # every Python has its own versions
# environment markers that differ between the supported systems
NAMES = ("sys_platform", "platform_system", "os_name", "platform_machine")
SYSTEMS = [dict(zip(NAMES, system)) | {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
           for system in (("linux", "Linux", "posix", "x86_64"), ("win32", "Windows", "nt", "AMD64"),
                          ("darwin", "Darwin", "posix", "arm64"))
           for python in ("3.11", "3.12", "3.13")]


def versions(paths: tuple[Path, ...] = FILES) -> dict[str, str]:
    """Return {name: version} of every package that the requirements install here, without local version labels
    (torch's +cpu), which differ between systems."""
    return {package.name: Version(package.version).public for path in paths for package in brought(path)
            if package.name not in TOOLS}


def elsewhere(paths: tuple[Path, ...] = FILES) -> list[str]:
    """Return the names of further packages that other systems or Python versions need, according to the metadata of the
    installed packages. Their own dependencies are unknown."""
    fixed = versions(paths)
    requirements = [requirement for path in paths for requirement in named(path)]
    more = [Requirement(line) for name in [*fixed, *(one.name for one in requirements)] for line in _requires(name)]
    return sorted({_plain(one.name) for one in more
                   if one.marker is not None and any(one.marker.evaluate(system) for system in SYSTEMS)}
                  - fixed.keys() - TOOLS)


def constraints() -> str:
    """Return the content of constraints.txt."""
    python = ".".join(map(str, sys.version_info[:2]))
    head = (f"Written by .ci/constraints with Python {python} on {sys.platform}: what the requirements install.",
            "Not fixed are pip and setuptools, what PyPI's torch for Linux adds for GPUs (nvidia-*, triton), and what",
            f"other systems need beside it: {', '.join(elsewhere())}.")
    lines = [f"# {line}" for line in head] + [f"{name}=={version}" for name, version in sorted(versions().items())]
    return "".join(f"{line}\n" for line in lines)


def _requires(name: str) -> list[str]:
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@click.command()
def main() -> None:
    """Print the content of constraints.txt for the packages installed here."""
    click.echo(constraints(), nl=False)


if __name__ == "__main__":
    main()
