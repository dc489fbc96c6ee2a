"""The table and the acceptance criteria of benchmarks.versus_bertviz."""
import datetime
import os
import platform
import statistics
from dataclasses import dataclass

HEADS = 72     # heads of MiniLM
STOP = 120.0   # timeout for a picture in seconds
PARTS = ("model", "preparation", "transfer", "paint")
INTRODUCTION = """# The first picture of all heads, beside BertViz

Written by `OMP_NUM_THREADS=1 python -m benchmarks.versus_bertviz --page benchmarks/versus_bertviz.md`, with
all-MiniLM-L6-v2 (6 × 12 heads), one text of each length, one Chromium and one thread of torch on each side. Seconds are
from submitting the text to the painted picture. *Model*: the pass, with tokens and (Clearhead) its check.
*Preparation*: everything before sending. *Transfer*: to the browser, with packing and queues. *Paint*: from there to
the picture. BertViz 1.4.1 draws one head in `head_view`; its jQuery is 2.2.4. *Nodes* and *memory* are the browser's
after the picture (memory: all its processes).

"""


@dataclass(frozen=True)
class Row:
    """One picture: seconds by part, bytes sent until then, DOM nodes, and memory of the browser in megabytes. note: why
    there is no picture."""

    view: str
    tokens: int
    model: float = 0.0
    preparation: float = 0.0
    transfer: float = 0.0
    paint: float = 0.0
    bytes: int = 0
    nodes: int = 0
    memory_mb: float = 0.0
    note: str = ""

    @property
    def seconds(self) -> float:
        return sum(getattr(self, part) for part in PARTS)


def middle(rows: list[Row]) -> Row:
    """Return the row with the median time."""
    return sorted(rows, key=lambda row: row.seconds)[len(rows) // 2]


def bars(rows: list[Row], extras: dict, pointer: dict[str, float]) -> list[dict]:
    """Return every criterion with its measured value. A picture that was stopped counts as two minutes."""
    at = {(row.view, row.tokens): row for row in rows}
    found: list[tuple[str, float, str, float]] = []
    for tokens, least in ((128, 20), (256, 100)):
        if ("model_view", tokens) in at and ("all heads", tokens) in at:
            other = at["model_view", tokens]
            ratio = (STOP if other.note else other.seconds) / at["all heads", tokens].seconds
            found.append((f"times faster than model_view at {tokens} tokens", ratio, "at least", least))
    found += [("overview: bytes per head above 20 kB, longest", extras["overview_bytes_a_head_over_20_kB"], "at most",
               4100),
              ("open head: bytes per cell", extras["head_bytes_a_cell"], "at most", 4),
              ("pointer, ms, 95th percentile of 500 moves, slowest lens",
               max(value for name, value in pointer.items() if name != "open"), "at most", 8)]
    if extras["open_another_head_s"]:
        slow = statistics.quantiles(map(sum, extras["open_another_head_s"]), n=20)[-1]
        found.append(
            (f"opening another head at 256 tokens, s, 95th percentile of {len(extras['open_another_head_s'])}", slow,
             "at most", 0.2))
    if extras["smollm2"]:
        seconds = statistics.median(each["seconds"] for each in extras["smollm2"]["pictures"])
        plain = statistics.median(extras["smollm2"]["plain_s"])
        found.append(("270 heads of SmolLM2 at 1,024 tokens / plain pass", seconds / plain, "at most", 1.75))
    return [{"bar": name, "value": value, "sense": sense, "limit": limit,
             "met": value >= limit if sense == "at least" else value <= limit}
            for name, value, sense, limit in found]


def columns(row: Row) -> list[str]:
    """Return the cells of a table row."""
    parts = [f"{getattr(row, part):.2f}" if getattr(row, part) or not row.note else "–" for part in PARTS]
    rest = [form.format(value) if value else "–"
            for form, value in (("{:,.2f}", row.bytes / 1e6), ("{:,}", row.nodes), ("{:,.0f}", row.memory_mb))]
    return [row.view, str(row.tokens), row.note or f"{row.seconds:.2f}", *parts, *rest]


HEADINGS = ("view", "tokens", "total, s", *PARTS, "MB sent", "nodes", "memory, MB")


def show(row: Row) -> Row:
    print(" ".join(f"{text:>14}" for text in columns(row)), flush=True)
    return row


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, {datetime.date.today()}"


def told(bar: dict) -> str:
    return f"{'met   ' if bar['met'] else 'MISSED'} {bar['value']:8.2f} ({bar['sense']} {bar['limit']:g})  {bar['bar']}"


def page_text(rows: list[Row], found: list[dict]) -> str:
    lines = [HEADINGS, ["---"] * len(HEADINGS), *map(columns, rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    limits = "\n".join(f"- {told(bar)}" for bar in found)
    return f"{INTRODUCTION}{table}\n\n{limits}\n\n{machine()}\n"
