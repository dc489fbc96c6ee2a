"""Run the Python of the documents in a notebook and write its outputs back: `python -m tools.documents [FILE …]`

All ```python blocks of a document run in order in one kernel, in an empty folder. The output of a block replaces the
```text block or the picture (`![…](images/NAME.png)`) that follows it. HTML output is rendered by Chromium. --python is
the interpreter of an environment with an installed wheel of Clearhead and ipykernel; by default, the kernel runs the
checkout.
"""
import io
import json
import os
import re
import sys
import tempfile
from base64 import b64decode
from pathlib import Path

import click
import nbformat
from nbclient import NotebookClient
from PIL import Image, ImageChops

from tools.pictures import ROOT, browser, small

DOCUMENTS = "docs/api.md", "docs/paper.md", "docs/own-model.md"
PATIENCE = 600   # timeout for one block in seconds
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n"
                   r"(?:\n(?P<said>```text\n.*?```)|\n!\[[^]]*\]\((?P<picture>\S+?\.png)\))?", re.DOTALL)
WIDTH, MARGIN = 980, 16   # width of a notebook cell and white margin of its picture, in pixels


def fill(document: str, folder: Path) -> tuple[str, dict[str, bytes]]:
    """Run a document and return it with its outputs, and its pictures {path: PNG}. Raises CellExecutionError if a block
    fails."""
    blocks = list(BLOCK.finditer(document))
    shown = nbformat.v4.new_code_cell('import pandas\nget_ipython().ast_node_interactivity = "all"\n'
                                      'pandas.set_option("display.width", 120)')
    cells = [nbformat.v4.new_code_cell(block["code"]) for block in blocks]
    NotebookClient(nbformat.v4.new_notebook(cells=[shown, *cells]), timeout=PATIENCE, kernel_name="documents",
                   resources={"metadata": {"path": str(folder)}}).execute()
    pictures = {}
    for block, cell in reversed(list(zip(blocks, cells, strict=True))):
        if block["picture"]:
            pictures[block["picture"]] = picture(cell.outputs)
        elif block["said"]:
            start, end = block.span("said")
            document = f"{document[:start]}```text\n{text(cell.outputs)}```{document[end:]}"
    return document, pictures


def text(outputs: list) -> str:
    """Return the printed lines and the text of each displayed value."""
    said = [each["text"] if each["output_type"] == "stream" else each["data"]["text/plain"] + "\n" for each in outputs
            if each.get("name") != "stderr"]
    return "".join(re.sub(r" at 0x[0-9a-f]+", "", each) for each in said)


def picture(outputs: list) -> bytes:
    """Return the last displayed picture as PNG."""
    drawn = next(each["data"] for each in reversed(outputs) if {"image/png", "text/html"} & set(each.get("data", ())))
    return photograph(drawn["text/html"]) if "text/html" in drawn else b64decode(drawn["image/png"])


def photograph(content: str) -> bytes:
    """Render HTML in Chromium at the width of a notebook cell, and return a PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, browser(playwright) as chromium:
        page = chromium.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
        page.set_content(f'<body style="margin: 0">{content}')
        page.frame_locator("iframe").locator("canvas").first.wait_for(timeout=1000 * PATIENCE)
        page.wait_for_timeout(2000)   # wait until the frame has reported its height
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    drawn = ImageChops.difference(shot, Image.new("RGB", shot.size, "white")).getbbox()
    if drawn is None:
        raise SystemExit("Chromium painted nothing; run it again on a machine with less to do.")
    return small(shot.crop((0, 0, drawn[2] + MARGIN, drawn[3] + MARGIN)))


def use(python: str, folder: Path) -> None:
    """Make notebooks in this process use the kernel of an interpreter."""
    place = folder / "kernels" / "documents"
    place.mkdir(parents=True)
    command = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (place / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Clearhead", "language": "python"}),
                                       encoding="utf-8")
    os.environ["JUPYTER_PATH"] = str(folder)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--python", default="", help="An interpreter into which a wheel of Clearhead was installed.")
def main(names: tuple[str, ...], python: str) -> None:
    """Run the named documents, by default all, and write their outputs."""
    if not python:
        os.environ["PYTHONPATH"] = str(ROOT)
    for name in names or DOCUMENTS:
        path = ROOT / name
        with tempfile.TemporaryDirectory() as kernels, tempfile.TemporaryDirectory() as empty:
            use(python or sys.executable, Path(kernels))
            document, pictures = fill(path.read_text(encoding="utf-8"), Path(empty))
        path.write_text(document, encoding="utf-8")
        for place, content in pictures.items():
            (path.parent / place).write_bytes(content)
        click.echo(f"{name}: {document.count('```python')} blocks, {len(pictures)} pictures")


if __name__ == "__main__":
    main()
