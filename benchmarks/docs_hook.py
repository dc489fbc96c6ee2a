"""Adds benchmarks/*.md and SECURITY.md to the site that mkdocs builds, so that each stands in the repository once."""
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent


def on_files(files: Files, config) -> Files:
    """mkdocs calls this with the files of docs/."""
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, "security.md", content=(ROOT / "SECURITY.md").read_text(encoding="utf-8")))
    return files
