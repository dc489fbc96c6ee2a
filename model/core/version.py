"""Clearhead's version, and the commit it was built from or runs in."""
import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]   # setup.py imports this module before any package is installed
VERSION = "1.0.0"


@functools.cache
def commit() -> str:
    """Return the commit, 40 hexadecimal digits, as written into the wheel or reported by git; "" if unknown."""
    written = ROOT / "clearhead" / "commit.txt"
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    if not (ROOT / ".git").exists():
        return ""
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, timeout=5,
                               encoding="utf-8", check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
