"""Compare the time to the first picture of all heads in Clearhead and BertViz: `python -m benchmarks.versus_bertviz
[--json FILE] [--page FILE] [--lengths 16,32,…]`.

Both use the same model (MiniLM, 6 × 12 heads), text, machine and Chromium. The time runs from the submission of a text
to the painted picture, with the model already open and a first text already drawn. Every length is measured with three
texts, of which the median counts, or only once if it takes over ten seconds. A view of BertViz is stopped after two
minutes, and not tried with longer texts. Requires npm. The criterion for SmolLM2 requires `clearhead fetch
smollm2`; otherwise, it is reported as not measured. Takes five to eight minutes. Set OMP_NUM_THREADS=1 to give each
side one torch thread, as in benchmarks/versus_bertviz.md.
"""
import argparse
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.extraction import SENTENCE, text_of
from benchmarks.versus_table import HEADINGS, HEADS, STOP, Row, bars, machine, middle, page_text, show, told
from clearhead.model.core.files import write as write_file

LENGTHS = "16,32,64,128,256,512"
OPENED = 20   # number of heads to open
LONG = 10.0   # seconds above which a length is only measured once


def texts(tokenizer, tokens: int) -> list[str]:
    """Return three texts with this number of tokens and different first words."""
    words = SENTENCE.split()
    return [text_of(tokenizer, tokens, " ".join(words[turn:] + words[:turn]) + " ") for turn in (0, 12, 14)]


def memory() -> float:
    """Return the memory of all browsers started by this process in megabytes; shared memory counts once (Linux)."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = status.read_text(encoding="utf-8").rsplit(")", 1)
            parents[int(status.parent.name)] = (int(rest.split()[1]), name.split("(", 1)[1])
        except OSError:
            continue
    total = 0
    for process, (parent, name) in parents.items():
        while parent not in (0, os.getpid()):
            parent = parents.get(parent, (0, ""))[0]
        if parent and name.startswith("chrom"):
            told = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
            total += next(int(line.split()[1]) for line in told if line.startswith("Pss:"))
    return total / 1024


def nodes(page) -> int:
    return page.context.new_cdp_session(page).send("Memory.getDOMCounters")["nodes"]


def bertviz_row(launch, pages, view: str, tokens: int, text: str) -> Row:
    """Measure BertViz's view of a text in a new browser."""
    from urllib.parse import urlencode

    from playwright.sync_api import Error

    browser, begun = launch(), time.perf_counter()
    try:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{pages.address}/?{urlencode({'view': view, 'text': text})}", timeout=STOP * 1000,
                  wait_until="commit")
        left = STOP - (time.perf_counter() - begun)
        page.wait_for_function("window.painted", timeout=max(1, left * 1000), polling=100)
        painted, came = page.evaluate("[window.painted, performance.getEntriesByType('navigation')[0].responseEnd]")
        told, count = pages.told, nodes(page)
        if count < tokens:   # a page too long for the browser also reports that it is painted
            return Row(view, tokens, **told, note="drew nothing")
        return Row(view, tokens, told["model"], told["preparation"], came / 1000 - told["model"] - told["preparation"],
                   (painted - came) / 1000,
                   told["bytes"], count, memory())
    except Error as error:
        seconds = time.perf_counter() - begun
        why = f"failed after {seconds:.0f} s: {str(error).splitlines()[0][:60]}"
        if seconds >= STOP:
            why = f"stopped after {STOP:.0f} s"
        return Row(view, tokens, **pages.told, note=why)
    finally:
        browser.close()


def bertviz(launch, lengths: list[int], networks) -> list[Row]:
    """Measure both views of BertViz, short texts first."""
    from benchmarks import bertviz_pages

    tokenizer, network = networks
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        pages = bertviz_pages.Pages(network, tokenizer, bertviz_pages.fetch(Path(folder)))
        bertviz_row(launch, pages, "model_view", 0, "A first text.")
        for view in reversed(bertviz_pages.VIEWS):
            stopped = ""
            for tokens in lengths:
                taken = [Row(view, tokens, note="not tried") if stopped
                         else bertviz_row(launch, pages, view, tokens, texts(tokenizer, tokens)[0])]
                stopped = taken[0].note
                if not stopped and taken[0].seconds < LONG:
                    taken += [bertviz_row(launch, pages, view, tokens, text) for text in texts(tokenizer, tokens)[1:]]
                rows.append(show(middle(taken)))
        pages.stop()
    return rows


def clearhead(launch, server, lengths: list[int], tokenizer) -> tuple[list[Row], dict]:
    """Measure the grid of all heads and the open head. Return the rows, and further values for the criteria."""
    from benchmarks.clearhead_pages import Page
    from clearhead.viz.components.messages import unpack

    rows, overview, cells, opened = [], 0.0, 0.0, []
    for tokens in lengths:
        browser = launch()
        page = Page(browser, server)
        page.open("/?text=A+first+text.")
        taken = []
        for text in texts(tokenizer, tokens):
            grid, head = page.ask(text)
            page.rest()
            row = Row("all heads", tokens, **page.split(grid), bytes=grid.sent, nodes=nodes(page.page),
                      memory_mb=memory())
            late = max(0.0, head.painted - grid.painted)   # the open head is painted after the grid
            taken.append((row,
                          replace(row, view="with open head", paint=row.paint + late, bytes=max(grid.sent, head.sent))))
            overview = max(overview, (len(grid.message) - 20_000) / HEADS)
            arrays = unpack(head.body)[1].values()
            cells = max(cells, sum(array.nbytes for array in arrays) / tokens ** 2)
        rows += [show(middle([pair[0] for pair in taken])), show(middle([pair[1] for pair in taken]))]
        if tokens == 256:
            opened = open_heads(page)
        browser.close()
    return rows, {"overview_bytes_a_head_over_20_kB": overview, "head_bytes_a_cell": cells,
                  "open_another_head_s": opened}


def open_heads(page) -> list[tuple[float, float]]:
    """Open heads in the grid. Return the seconds from each click to the arrival of data, and from there to the
    picture."""
    taken = []
    for turn in range(OPENED):
        picture = page.open_head((7 + 31 * turn) % HEADS)
        taken.append((picture.arrived - picture.asked, picture.painted - picture.arrived))
        page.rest()
    return taken


def smollm2(launch, server) -> dict | None:
    """Return the seconds until SmolLM2's 270 heads are painted for 1,024 tokens, and of a plain pass on the same texts;
    None if the model is missing."""
    import torch

    from benchmarks.clearhead_pages import Page
    from benchmarks.extraction import opened
    from clearhead.model.pretrained import catalogue

    if not any(entry.name == "smollm2" and catalogue.on_disk(entry) for entry in catalogue.ENTRIES):
        return None
    model, own = opened("smollm2")
    options, passes, pictures = {"logits_to_keep": 1}, [], []
    browser = launch()
    page = Page(browser, server)
    page.open("/?model=smollm2&text=A+first+text.")
    for text in texts(model.tokenizer, 1024):
        for _ in range(2):   # the first pass at each length is slower
            begun = time.perf_counter()
            with torch.inference_mode():
                own(**model.tokenizer(text, return_tensors="pt"), **options)
            plain = time.perf_counter() - begun
        passes.append(plain)
        grid, _ = page.ask(text)
        pictures.append({"seconds": grid.seconds, **page.split(grid)})
        page.rest()
    browser.close()
    return {"plain_s": passes, "pictures": pictures}


def measure(lengths: list[int]) -> tuple[list[Row], dict, dict[str, float]]:
    """Run all measurements. Return (rows, further values for the criteria, results of `pointer`)."""
    from playwright.sync_api import sync_playwright

    from benchmarks import pointer
    from benchmarks.extraction import opened
    from tests.conftest import FLAGS, ROOT, Server, chromium

    print(" ".join(f"{text:>14}" for text in HEADINGS))
    model, own = opened("minilm")
    own.set_attn_implementation("eager")   # required to get the weights that BertViz draws
    free = {"CLEARHEAD_LONGEST_TEXT": "100000", "CLEARHEAD_LONGEST_WAIT": "600"}
    server = Server(ROOT / "benchmarks" / "watched.py", Path(tempfile.mkdtemp()) / "server.log", **free).wait()
    try:
        with sync_playwright() as playwright:
            launch = lambda: playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            rows, extras = clearhead(launch, server, lengths, model.tokenizer)
            extras["smollm2"] = smollm2(launch, server)
            server.stop()
            rows += bertviz(launch, lengths, (model.tokenizer, own))
    finally:
        server.stop()
    return rows, extras, pointer.measure()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file that gets the numbers, with machine and versions")
    parser.add_argument("--page", type=Path, help="Markdown file that gets the table")
    parser.add_argument("--lengths", default=LENGTHS, help="tokens, with commas between")
    wanted = parser.parse_args()
    rows, extras, pointer = measure([int(each) for each in wanted.lengths.split(",")])
    found = bars(rows, extras, pointer)
    print("\n".join(map(told, found)))
    if not extras["smollm2"]:
        print("not measured: SmolLM2 is not on this disk; clearhead fetch smollm2")
    if wanted.page:
        write_file(wanted.page, page_text(rows, found).encode("utf-8"))
    if wanted.json:
        content = {"rows": [asdict(row) | {"seconds": row.seconds} for row in rows], "bars": found,
                   "pointer_p95_ms": pointer, **extras,
                   "machine": machine(), "python": platform.python_version()}
        write_file(wanted.json, json.dumps(content, indent=1).encode("utf-8"))
    sys.exit(0 if all(bar["met"] for bar in found) else 1)


if __name__ == "__main__":
    main()
