"""The classroom sheets, to take away: the students' copy without answers and with lines to write on, the teachers' with
answers and advice; as Markdown, as HTML that word processors read, and from that as PDF.

A sheet is assets/text/en/sheets/NAME.md. Its Markdown is headings, paragraphs, lists, quotes, tables and
`![words](file)` of assets/images, parted by empty lines; formulas are plain text. A paragraph that begins with
"Answer:" or "Teacher:" stands in the teachers' copy only, so both copies are made of one text. """
import base64
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from viz.provenance import opens_elsewhere, state_in_words
from viz.text import FOLDER, strings

IMAGES = Path(__file__).parents[2] / "assets" / "images"
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
LINK = r"\[([^\]]*)\]\(([^)\s]*)\)"
SIGNS = 90         # of an answer, for which the students' copy has one line
MOST_LINES = 5
STYLE = """
body { font-family: Georgia, "DejaVu Serif", serif; font-size: 11pt; line-height: 1.4; max-width: 42em;
  margin: 2em auto; padding: 0 1em; color: #000; background: #fff; }
h1 { font-size: 17pt; } h2 { font-size: 13pt; margin-top: 1.4em; }
h1, h2, h2 + p, h2 + p.teacher, h2 + p + p.teacher, blockquote { break-after: avoid; }
li { margin: 0.5em 0; break-inside: avoid; } p { margin: 0.4em 0; }
blockquote { margin: 0.6em 0; padding: 0.1em 0 0.1em 1em; border-left: 2pt solid #555; }
blockquote p { margin: 0; orphans: 9; widows: 9; }   /* Chromium breaks after a quote that it may not break */
table { border-collapse: collapse; margin: 0.8em 0; }
th, td { border: 0.5pt solid #555; padding: 2pt 6pt; text-align: left; }
p.answer, p.teacher { border-left: 2pt solid #555; padding-left: 0.8em; break-inside: avoid; }
p.line { border-bottom: 0.5pt solid #777; height: 1.7em; margin: 0; break-before: avoid; }
p.line + p:not(.line), p.answer + p:not(.teacher) { margin-top: 1em; }
p.copy, p.made, ol.links { color: #444; font-size: 9.5pt; } ol.links li { margin: 0.2em 0; }
a { color: #14478d; overflow-wrap: anywhere; } sup { line-height: 0; }
p.made { break-before: avoid; }
@page { margin: 18mm; } @media print { body { margin: 0 auto; padding: 0; } }
"""


@dataclass(frozen=True)
class Block:
    """What stands between two empty lines."""

    kind: str              # heading, item, number, quote, table, text, answer, teacher or space (for an answer)
    text: str              # its Markdown without the signs that said its kind; of a table its rows
    number: int = 0        # of a numbered item; of a heading how deep it is; of a space how many lines it has
    inside: bool = False   # whether it belongs to the numbered item before it


@dataclass(frozen=True)
class Sheet:
    """One copy of a sheet."""

    name: str                    # of its file
    title: str
    blocks: tuple[Block, ...]    # below the title
    teacher: bool                # whose copy it is


def sheet_names() -> list[str]:
    """The names of all sheets."""
    return sorted(path.stem for path in (FOLDER / "sheets").glob("*.md"))


def sheet(name: str, teacher: bool) -> Sheet:
    """A sheet's copy for teachers or for students."""
    title, text = (FOLDER / "sheets" / f"{name}.md").read_text(encoding="utf-8").split("\n", 1)
    blocks = []
    for block in map(_block, filter(str.strip, re.split(r"\n[ \t]*\n", text))):
        if teacher or block.kind not in ("answer", "teacher"):
            blocks.append(block)
        elif block.kind == "answer":
            blocks.append(Block("space", "", min(MOST_LINES, 1 + len(block.text) // SIGNS), block.inside))
    return Sheet(name, title.removeprefix("# ").strip(), tuple(blocks), teacher)


def _block(lines: str) -> Block:
    inside, text = lines.strip("\n").startswith("    "), lines.strip()
    for kind in ("Answer", "Teacher"):
        if text.startswith(f"{kind}: "):
            return Block(kind.lower(), text.removeprefix(f"{kind}: "), inside=inside)
    if found := re.match(r"(\d+)\. ", text):
        return Block("number", text[found.end():], int(found[1]))
    if text.startswith("#"):
        return Block("heading", text.lstrip("# "), len(text) - len(text.lstrip("#")))
    kinds = {"- ": "item", "> ": "quote", "| ": "table"}
    kind = kinds.get(text[:2], "text")
    return Block(kind, text if kind == "table" else text.removeprefix(text[:2]) if kind in ("item", "quote") else text,
                 inside=inside)


def markdown(copy: Sheet, base: str = "", deeper: int = 0) -> str:
    """The copy as Markdown, without its title if its headings stand `deeper` than in the file, as on a page. base: the
    address that its links begin with; "" leaves them as they are, which works on Clearhead's own pages."""
    words = strings("sheets")
    parts = [] if deeper else [f"# {copy.title}", words["of_teachers" if copy.teacher else "of_students"]]
    for block in copy.blocks:
        text = block.text
        if block.kind == "space":
            continue
        if block.kind in ("answer", "teacher"):
            text = f"**{words[block.kind]}** {text}"
        signs = {"heading": "#" * (block.number + deeper) + " ", "item": "- ", "quote": "> ",
                 "number": f"{block.number}. "}.get(block.kind, "")
        parts.append(("    " if block.inside else "") + signs + text)
    whole = "\n\n".join(parts) + "\n"
    if not base:
        return whole
    return re.sub(rf"(?<!!){LINK}", lambda found: _reachable(found[1], base + found[2]), whole)


def _reachable(words: str, link: str) -> str:
    """A link in Markdown; where others cannot open it, its words and the state that it would open."""
    return f"[{words}]({link})" if opens_elsewhere(link) else f"{words} ({state_in_words(link)})"


def page(copy: Sheet, base: str) -> bytes:
    """The copy as an HTML file: plain elements, its pictures inside it, every link a note whose address is written out
    at the end, as on paper nothing can be clicked. base: the address that the links begin with, up to and with its
    last "/"; one that others cannot open is not printed, and the notes say the state in words."""
    words, links = strings("sheets"), Links(base)
    body = "\n".join(_elements(copy.blocks, links, words))
    notes = "".join(f"<li>{note}</li>" for note in links.notes)
    return f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"/><meta name="generator" content="Clearhead"/><title>{html.escape(copy.title)}</title>
<style>{STYLE}</style></head>
<body>
<h1>{_inline(copy.title, None)}</h1>
<p class="copy">{html.escape(words["of_teachers" if copy.teacher else "of_students"])}</p>
{body}
<h2>{html.escape(words["links"])}</h2>
<ol class="links">{notes}</ol>
<p class="made">{html.escape(words["made"])}</p>
</body>
</html>
""".encode()


class Links:
    """The links of one file, each with the number of its note; the same link has one note."""

    def __init__(self, base: str) -> None:
        """base: what they begin with."""
        self.base = base
        self.notes: list[str] = []   # HTML

    def __call__(self, link: str) -> tuple[str, int]:
        """(the address that a reader can open or "", the number of its note)."""
        address = self.base + link
        opens = opens_elsewhere(address)
        shown = html.escape(address if opens else state_in_words(address))
        note = f'<a href="{shown}">{shown}</a>' if opens else shown
        if note not in self.notes:
            self.notes.append(note)
        return address if opens else "", 1 + self.notes.index(note)


def _elements(blocks: tuple[Block, ...], links: Links, words: dict) -> Iterator[str]:
    """The HTML of the blocks; the numbered items of a section are one list, what stands inside one belongs to it."""
    for place, block in enumerate(blocks):
        before, after = (blocks[at] if 0 <= at < len(blocks) else Block("none", "") for at in (place - 1, place + 1))
        in_list = before.inside or before.kind == "number"
        if block.kind == "number":
            yield ("</li>" if in_list else f'<ol start="{block.number}">') + f"<li><p>{_inline(block.text, links)}</p>"
        else:
            yield _element(block, links, words)
        goes_on = after.inside or after.kind == "number"
        if (block.inside or block.kind == "number") and not goes_on:
            yield "</li></ol>"


def _element(block: Block, links: Links, words: dict) -> str:
    if block.kind == "space":
        return '<p class="line">&#160;</p>' * block.number
    if block.kind == "table":
        return _table(block.text, links)
    if block.kind == "item":
        items = "".join(f"<li>{_inline(line.removeprefix('- '), links)}</li>" for line in block.text.splitlines())
        return f"<ul>{items}</ul>"
    text = _inline(block.text, links)
    if block.kind in ("answer", "teacher"):
        return f'<p class="{block.kind}"><strong>{html.escape(words[block.kind])}</strong> {text}</p>'
    return {"heading": f"<h{block.number}>{text}</h{block.number}>",
            "quote": f"<blockquote><p>{text}</p></blockquote>"}.get(block.kind, f"<p>{text}</p>")


def _table(text: str, links: Links) -> str:
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.splitlines()]
    written = [[_inline(cell, links) or "&#160;" for cell in row] for row in rows
               if not re.fullmatch(r"[-: ]+", "".join(row))]
    head, *body = ["".join(f"<{name}>{cell}</{name}>" for cell in row)
                   for row, name in zip(written, ["th", *["td"] * len(written)], strict=False)]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _inline(text: str, links: Callable[[str], tuple[str, int]] | None) -> str:
    """Markdown inside a paragraph as HTML: pictures, links, bold, italics, d_k and e^x. links: gives the notes; None
    where there are none."""
    def linked(found: re.Match) -> str:
        words, target = _formula(found[1]), html.unescape(found[2])
        if found[0].startswith("!"):
            return _picture(words, target)
        return _link(words, target, links) if links else words

    text, parts, at = html.escape(" ".join(text.split()), quote=False), [], 0
    for found in re.finditer("!?" + LINK, text):
        parts += [_formula(text[at:found.start()]), linked(found)]
        at = found.end()
    marked = "".join([*parts, _formula(text[at:])])
    marked = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", marked)


def _formula(text: str) -> str:
    """Indices and powers as such, which word processors keep."""
    text = re.sub(r"(?<=[A-Za-z])_([A-Za-z])(?!\w)", r"<sub>\1</sub>", text)
    return re.sub(r"\^(\w|\([^)]*\))", r"<sup>\1</sup>", text)


def _link(words: str, link: str, links: Callable[[str], tuple[str, int]]) -> str:
    address, number = links(link)
    linked = f'<a href="{html.escape(address)}">{words}</a>' if address else words
    return f"{linked}<sup>{number}</sup>"


def _picture(words: str, file: str) -> str:
    """A picture inside the file, so that none is missing elsewhere."""
    path = IMAGES / file
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{html.escape(words)}" src="data:{KINDS[path.suffix]};base64,{data}"/>'
