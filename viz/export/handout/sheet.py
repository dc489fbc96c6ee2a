"""Create the downloadable classroom sheets: the students' copy with lines for writing, and the teachers' copy with
answers and advice; as Markdown, as HTML for word processors, and as PDF printed from the HTML.

The source is assets/text/en/sheets/NAME.md: a title, and paragraphs separated by empty lines. Paragraphs that begin
with "Answer:" or "Teacher:" only appear in the teachers' copy. Formulas are plain text; pictures are files in
assets/images.
"""
import base64
import html
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen, need
from clearhead.viz.export.document import document
from clearhead.viz.export.provenance import opens_elsewhere, state_in_words
from clearhead.viz.style.text import FOLDER, strings

if TYPE_CHECKING:
    from markdown_it.token import Token

WORDS = strings("sheets")

IMAGES = ASSETS / "images"
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
LINK = r"(?<!!)\[([^\]]*)\]\(([^)\s]*)\)"
LINE = '<p class="line">&#160;</p>'
SIGNS = 90         # characters of the answer per line for writing in the students' copy
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
th, td { border: 0.5pt solid #555; padding: 2pt 6pt; text-align: left; height: 1.4em; }
p.answer, p.teacher { border-left: 2pt solid #555; padding-left: 0.8em; break-inside: avoid; }
p.line { border-bottom: 0.5pt solid #777; height: 1.7em; margin: 0; break-before: avoid; }
p.line + p:not(.line), p.answer + p:not(.teacher) { margin-top: 1em; }
p.copy, p.made, ol.links { color: #444; font-size: 9.5pt; } ol.links li { margin: 0.2em 0; }
a { color: #14478d; overflow-wrap: anywhere; } sup { line-height: 0; }
p.made { break-before: avoid; }
@page { margin: 18mm; } @media print { body { margin: 0 auto; padding: 0; } }
"""


@frozen
class Sheet:
    """One copy of a sheet."""

    name: str                     # file name without extension
    title: str
    teacher: bool                 # whether it is the teachers' copy
    paragraphs: tuple[str, ...]   # Markdown below the title, with HTML lines in place of the answers for students


def sheet_names() -> list[str]:
    """Return the names of all sheets."""
    return sorted(path.stem for path in (FOLDER / "sheets").glob("*.md"))


def sheet(name: str, teacher: bool) -> Sheet:
    """Read a sheet and return its copy for teachers or for students."""
    return copy_of(name, (FOLDER / "sheets" / f"{name}.md").read_text(encoding="utf-8"), teacher)


def copy_of(name: str, source: str, teacher: bool) -> Sheet:
    """Return the copy of a sheet for teachers or for students, from its source text."""
    title, text = source.split("\n", 1)
    paragraphs = []
    for paragraph in filter(str.strip, re.split(r"\n[ \t]*\n", text)):
        paragraph = paragraph.strip("\n")
        found = re.match(r"( *)(Answer|Teacher): (.*)", paragraph, re.DOTALL)
        if found is None:
            paragraphs.append(paragraph)
        elif teacher:
            paragraphs.append(f"{found[1]}**{WORDS[found[2].lower()]}** {found[3]}")
        elif found[2] == "Answer":
            paragraphs.append(found[1] + LINE * min(MOST_LINES, 1 + len(found[3]) // SIGNS))
    return Sheet(name, title.removeprefix("# ").strip(), teacher, tuple(paragraphs))


def markdown(copy: Sheet, base: str = "", deeper: int = 0) -> str:
    """Return the copy as Markdown. base: prefix of the links, or "" to keep them relative for Clearhead's own pages.
    deeper: number of levels by which headings are lowered; if not 0, the title is left out, as for a page."""
    parts = [] if deeper else [f"# {copy.title}", WORDS["of_teachers" if copy.teacher else "of_students"]]
    parts += ["#" * deeper + part if part.startswith("#") else part for part in copy.paragraphs if LINE not in part]
    whole = "\n\n".join(parts) + "\n"
    return re.sub(LINK, lambda found: f"[{found[1]}]({base}{found[2]})", whole)


def page(copy: Sheet, base: str) -> bytes:
    """Return the copy as an HTML file of plain elements, with embedded pictures and, for print, endnotes with the URLs
    of the links. base: prefix of the links, ending with "/"; if it opens in the local network only, the notes describe
    the state in words."""
    need("markdown_it")
    from markdown_it import MarkdownIt

    notes = list[str]()
    parser = MarkdownIt("commonmark", {"xhtmlOut": True}).enable("table")
    tokens = parser.parse("\n\n".join([f"# {copy.title}", *copy.paragraphs]))
    for before, token in pairwise(tokens):
        for kind in ("answer", "teacher"):
            if token.content.startswith(f"**{WORDS[kind]}**"):
                before.attrSet("class", kind)
        token.children = _children(token.children or [], base, notes)
    title, body = parser.renderer.render(tokens, parser.options, {}).split("\n", 1)
    listed = "".join(f"<li>{note}</li>" for note in notes)
    return document(copy.title, STYLE, f"""{title}
<p class="copy">{html.escape(WORDS["of_teachers" if copy.teacher else "of_students"])}</p>
{body}
<h2>{html.escape(WORDS["links"])}</h2>
<ol class="links">{listed}</ol>
<p class="made">{html.escape(WORDS["made"])}</p>""")


def _children(tokens: list["Token"], base: str, notes: list[str]) -> list["Token"]:
    """Convert the parts of a paragraph: number links and add their notes once, embed pictures, and write d_k and e^x
    with sub- and superscripts, which word processors keep."""
    from markdown_it.token import Token

    found, number = [], 0
    for token in tokens:
        if token.type == "link_open":
            address = base + str(token.attrGet("href"))
            shown = html.escape(address if opens_elsewhere(address) else state_in_words(address))
            note = f'<a href="{html.escape(address)}">{shown}</a>'
            if note not in notes:
                notes.append(note)
            number = 1 + notes.index(note)
            token.attrSet("href", address)
        elif token.type == "image":
            path = IMAGES / str(token.attrGet("src"))
            token.attrSet("src", f"data:{KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}")
        elif token.type == "text":
            text = re.sub(r"(?<=[A-Za-z])_([A-Za-z])(?!\w)", r"<sub>\1</sub>", html.escape(token.content, quote=False))
            token = Token("html_inline", "", 0, content=re.sub(r"\^(\w|\([^)]*\))", r"<sup>\1</sup>", text))
        found.append(token)
        if token.type == "link_close":
            found.append(Token("html_inline", "", 0, content=f"<sup>{number}</sup>"))
    return found
