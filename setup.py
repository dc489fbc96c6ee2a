"""Put the app, Streamlit's settings, the assets and the commit into a wheel; the rest is in pyproject.toml."""
import shutil
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from clearhead.model.core.version import commit  # noqa: E402, because a build does not have this folder on its path


class Build(build_py):
    """As setuptools builds, and then what is no module."""

    def run(self) -> None:
        """Copy what the app reads."""
        super().run()
        if self.editable_mode:
            return
        inside = Path(self.build_lib) / "clearhead"
        shutil.copytree(HERE / "assets", inside / "assets", dirs_exist_ok=True)
        shutil.copytree(HERE / ".streamlit", inside / "run" / ".streamlit", dirs_exist_ok=True)
        for name in ("app.py", "server.py"):
            shutil.copy2(HERE / name, inside / "run" / name)
        shutil.copy2(HERE / "LICENSE", inside / "LICENSE")
        (inside / "commit.txt").write_text(commit() + "\n", encoding="utf-8")


FOLDERS = {"clearhead": "clearhead", "clearhead.model": "model", "clearhead.viz": "viz"}   # as imported, and where
PARTS = [f"{name}.{part}" for name, folder in FOLDERS.items() if name != folder for part in find_packages(folder)]

setup(packages=[*FOLDERS, *PARTS], package_dir=FOLDERS, cmdclass={"build_py": Build})
