"""Install the wheel with its eight requirements in an empty environment, and run a session in a folder with a model.py
and a viz.py of its own:

    python -m tools.installed                                   # the newest versions
    python -m tools.installed --python python3.12 torch==2.6.0 numpy==2.0.0 pandas==2.2.2
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

import click

ROOT = Path(__file__).parents[1]
SESSION = '''
import re, sys, threading
from importlib.metadata import requires, version
import clearhead
weights = clearhead.open("minilm")("The animal didn't cross the street because it was too tired.").weights(3, 1)
assert weights.shape == (16, 16) and abs(weights.sum(1) - 1).max() < 1e-5
import model, viz
assert model.MINE == viz.MINE == 1
loaded = {"click", "streamlit", "plotly", "matplotlib", "peft", "gguf", "onnx"} & sys.modules.keys()
assert not loaded, loaded
assert threading.enumerate() == [threading.main_thread()]
asked = [re.match("[a-zA-Z0-9-]+", line)[0] for line in requires("clearhead") if "extra ==" not in line]
assert len(asked) == 8, asked
print(f"Python {sys.version.split()[0]};", ", ".join(f"{name} {version(name)}" for name in asked))
'''


def run(*command: str | Path, **options) -> subprocess.CompletedProcess:
    """Run a command. Raises CalledProcessError if it fails."""
    return subprocess.run([*map(str, command)], check=True, encoding="utf-8", **options)


@click.command()
@click.option("--python", default=sys.executable, help="The interpreter of the environment.")
@click.option("--notebook", is_flag=True, help="Run docs/colab.ipynb there, too, which installs the extra paper.")
@click.argument("versions", nargs=-1)
def main(python: str, notebook: bool, versions: tuple[str, ...]) -> None:
    """Print the versions of the requirements that the session ran with. VERSIONS are further requirements of pip."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        copy = shutil.copytree(ROOT, room / "copy", symlinks=True,   # as a build adds to what an earlier one left
                               ignore=shutil.ignore_patterns("build", "*.egg-info", ".venv", ".mypy_cache"))
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", room, copy)
        wheel = next(room.glob("*.whl"))
        with ZipFile(wheel) as held:
            tops = {name.split("/")[0] for name in held.namelist()}
        assert {each for each in tops if not each.endswith(".dist-info")} == {"clearhead"}, tops
        run(python, "-m", "venv", room / "venv")
        inside = next(room.glob("venv/[bS]*/python*"))
        run(inside, "-m", "pip", "install", "-q", "--no-compile", wheel, *versions)
        for name in ("home", "work"):
            (room / name).mkdir()
        for name in ("model.py", "viz.py"):
            (room / "work" / name).write_text("MINE = 1\n", encoding="utf-8")
        plain = {name: text for name, text in os.environ.items() if not name.startswith(("CLEARHEAD", "HF_", "PYTHON"))}
        home = {name: str(room / "home") for name in ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "HF_HOME")}
        home["PATH"] = os.pathsep.join((str(inside.parent), os.environ["PATH"]))   # where the notebook finds `pip`
        ran = run(inside, "-B", "-c", SESSION, cwd=room / "work", env=plain | home, capture_output=True)
        assert not ran.stderr, ran.stderr
        assert {each.name for each in room.glob("work/*")} == {"model.py", "viz.py"}
        assert not [*room.glob("home/**/*")], [*room.glob("home/**/*")]
        click.echo(ran.stdout.strip())
        if notebook:
            run(inside, "-m", "pip", "install", "-q", "nbclient", "ipykernel")
            for each in (wheel, ROOT / "docs" / "colab.ipynb"):
                shutil.copy2(each, room / "work")
            run(inside, "-m", "jupyter", "execute", "--inplace", "colab.ipynb", cwd=room / "work", env=plain | home)
            shown = [output["data"] for cell in json.loads((room / "work" / "colab.ipynb").read_text("utf-8"))["cells"]
                     for output in cell.get("outputs", ()) if "data" in output]
            assert sum({"text/html", "image/png"} <= each.keys() for each in shown) == 3, [*map(list, shown)]


if __name__ == "__main__":
    main()
