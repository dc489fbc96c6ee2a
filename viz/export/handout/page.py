"""Export a handout as one HTML file that contains the components' code and messages. Texts of figures are never
treated as markup.
"""
import base64
import hashlib
import html
import itertools
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from clearhead.model.core.query import UserError, need
from clearhead.model.core.view import LENSES
from clearhead.viz.components.bundle import component_style, stylesheet
from clearhead.viz.components.lenses import words_of
from clearhead.viz.components.picture import Grid, Head, Image
from clearhead.viz.export.document import Script, as_json, document, module_script, packed
from clearhead.viz.export.handout.files import Handout, Item
from clearhead.viz.export.handout.values import SPOKEN, Chart, Table, Value
from clearhead.viz.export.paper.page import Paper, whole_page
from clearhead.viz.export.paper.sheet import pen, save
from clearhead.viz.export.provenance import opens_elsewhere, way_back
from clearhead.viz.style.text import Texts, show_invisibles, strings

if TYPE_CHECKING:
    from clearhead.viz.export.handout.photograph import Photograph

STYLE = component_style("handout") + stylesheet("chart/numbers.css")
UNSCRIPTED = """<noscript><style>
figure.inked .live { display: none; } .paper { display: block; max-width: 100%; }</style></noscript>"""
LINE = '<p class="line"></p>'   # a line for handwriting in print
PRINTED = Paper(handout=True)
SMALL = 300    # largest height in points of a figure printed beside its caption, so that three fill a page
NAME = 28   # longest name that is not wrapped, in characters
Photographs = Mapping[str, "Photograph | str"]   # by id of an entry; a string says why there is none
NONE: Photographs = {}
# characters that need no escaping in a quoted data: URL
KEPT = "".join(chr(sign) for sign in range(33, 127) if chr(sign) not in '"#%&') + " "


def page(handout: Handout, photographs: Photographs = NONE) -> bytes:
    """Return the HTML file. photographs: of the screens, by id. Raises UserError if the handout is empty."""
    words = strings("handout")["page"]
    if not handout.items:
        raise UserError(strings("handout")["empty"])
    title = show_invisibles(handout.title) or words["untitled"]
    numbers = itertools.accumulate(int(item.kind not in SPOKEN) for item in handout.items)
    figures = "\n".join(_words(item, words, photographs.get(item.id, words["no_photograph"]))
                        if item.kind in SPOKEN else _figure(item, number, words)
                        for item, number in zip(handout.items, numbers, strict=True))
    labels = controls() | {"place": words["place"]}
    made = words("made", count=len(handout.items))
    body = f"""<header><h1>{html.escape(title)}</h1><p>{html.escape(made)}</p>
<p class="keys">{html.escape(words["keys"])} <button id="present">{words["present"]}</button></p></header>
<main>
{figures}
</main>
<script type="application/json" id="words">{as_json(labels)}</script>"""
    return document(title, STYLE, body, _scripts(handout), head=UNSCRIPTED)


def controls() -> dict[str, object]:
    """Return the labels of an open head's controls."""
    words = strings("heads")
    return {"lens": {lens: words_of(lens)["name"] for lens in LENSES if lens != "picture"}, "scale": words["scales"],
            "transpose": words["transpose"]}


def _scripts(handout: Handout) -> list[Script]:
    """Return plotly if there is a chart, and the components that are used."""
    kinds = {item.kind for item in handout.items}
    scripts = [module_script("handout/handout.js", sorted(kinds - {"chart", "table", *SPOKEN}))]
    if "chart" in kinds:
        need("plotly")
        from plotly.offline import get_plotlyjs

        scripts.insert(0, ("", get_plotlyjs()))
    return scripts


def _figure(item: Item, number: int, words: Texts) -> str:
    value, printed = item.value, paper_svg(item.value).replace("\n", " ")
    ink = f'<img class="paper" alt="" src="data:image/svg+xml,{quote(printed, safe=KEPT)}">' if printed else ""
    drawn = table_html(value) if isinstance(value, Table) else ""
    messages = photo = ""
    if isinstance(value, Chart):
        messages = f'<script type="text/plain" class="body">{as_json(json.loads(value.spec))}</script>\n'
    elif isinstance(value, (Head, Grid, Image)):
        messages = "".join(f'<script type="text/plain" class="{name}">{packed(content)}</script>\n'
                           for name, content in zip(("body", "state"), value.messages(), strict=True))
        photo = " data-photo" * (isinstance(value, Image) or (isinstance(value, Grid) and value.behind is not None))
    about = [show_invisibles(item.about)] if item.about else []
    back, link = way_back(item.link, said=f"{item.caption} {item.about}"), ""
    if back and back == item.link:
        link = f' <a href="{html.escape(back, quote=True)}" rel="noreferrer">{words["open"]}</a>'
    elif back:
        about.append(show_invisibles(back))
    source = as_json(json.loads(item.source or "null"))
    return f"""<figure data-kind="{item.kind}"{photo}{_place(item)}{_printed_as(printed)}>
<div class="live">{drawn}</div>{ink}
<figcaption><b>{words("number", number=number)}</b> {html.escape(visible_lines(item.caption))}</figcaption>
<p class="from">{html.escape(" · ".join(about))}{link}</p>
{messages}<script type="application/json" class="source">{source}</script>
</figure>"""


def paper_svg(value: Value, paper: Paper = PRINTED) -> str:
    """Return the SVG that is printed in place of a picture, or "" if it prints as drawn: a text without a token in
    focus, and anything but a picture. paper: how it is drawn, by default small enough to share a page."""
    if not isinstance(value, (Head, Grid, Image)):
        return ""
    with pen():
        try:
            plan = value.plan(paper)
        except UserError:
            return ""
        return save(whole_page([plan], [""], "", [], []), "svg").decode()


def _printed_as(printed: str) -> str:
    """Return the class attribute that determines whether a figure is printed as shapes and beside its caption."""
    size = re.search(r'<svg [^>]*?height="([\d.]+)pt"', printed)
    return f' class="inked{" small" if size and float(size[1]) <= SMALL else ""}"' if printed else ""


def _words(item: Item, words: Texts, taken: "Photograph | str") -> str:
    """Return the HTML of an entry without a figure: a text, a question with room for writing and a folded answer, or a
    page's screen with its link, one figure for each step. taken: its photograph, or why there is none."""
    said, text = item.said, markdown_html(item.caption)
    title = f"<b>{html.escape(show_invisibles(said['title']))}</b> " if said["title"] else ""
    under, (over, *later) = "", _photographs(said["title"], taken) if item.kind == "screen" else [""]
    if item.kind == "question":
        choices = "".join(f"<li>{html.escape(show_invisibles(choice))}</li>" for choice in said["choices"])
        under = f"<ol>{choices}</ol>" if choices else LINE * 3
        if said["answer"]:
            under += f'<details><summary>{words["answer"]}</summary>{markdown_html(said["answer"])}</details>'
    elif item.link:
        back = html.escape(way_back(item.link, said=f"{item.caption} {said['title']}"), quote=True)
        opens = opens_elsewhere(item.link)
        way = f'<a href="{back}" rel="noreferrer">{words["open"]}</a>' if opens else show_invisibles(back)
        under = f'<p class="from">{way}</p>'
    return f"""<figure class="words {item.kind}">
{over}
<figcaption>{title}{text}</figcaption>
{under}
</figure>""" + "".join(f"""
<figure class="words screen">
{photograph}
<figcaption>{title}{words("place", at=at, of=len(later) + 1)}</figcaption>
</figure>""" for at, photograph in enumerate(later, 2))


def _photographs(title: str, taken: "Photograph | str") -> list[str]:
    if isinstance(taken, str):
        return [f'<p class="from">{html.escape(taken)}</p>']
    alts = [html.escape(show_invisibles(f"{title}. {says}"), quote=True) for _, says in taken.steps]
    data = [base64.b64encode(picture).decode() for picture, _ in taken.steps]
    return [f'<img class="photograph" alt="{alt}" src="data:image/webp;base64,{each}">'
            for alt, each in zip(alts, data, strict=True)]


def markdown_html(text: str) -> str:
    """Return the user's own text as HTML. Emphasis, code and lists are Markdown; anything else appears as typed, so
    that a stranger's text loads and links to nothing."""
    need("markdown_it")
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"breaks": True}).enable(["emphasis", "backticks", "escape", "list", "newline"])
    return parser.render(visible_lines(text))


def visible_lines(text: str) -> str:
    """Return the text with invisible characters made visible and line breaks kept."""
    return "\n".join(show_invisibles(line) for line in text.splitlines())


def _place(item: Item) -> str:
    """Return data attributes that identify a figure's question and head, so that a click in a grid finds the head."""
    try:
        source = json.loads(item.source)
        question = [source[name] for name in ("model", "revision", "text", "text_b", "target", "continuation", "edits",
                                              "kind", "chat")]
    except (ValueError, KeyError, TypeError):
        return ""
    digest = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:16]
    if not isinstance(item.value, Head):
        return f' data-question="{digest}"'
    return f' data-question="{digest}" data-head="{item.value.open.layer}.{item.value.open.head}"'


def table_html(table: Table) -> str:
    """Return an HTML table, which viz/components/handout/table.js sorts when a header is clicked. Columns of names do
    not wrap; columns of sentences do."""
    heads, columns = "", []
    for name, *cells in zip(table.columns, *table.rows, strict=True):
        number = all(cell is None or isinstance(cell, (int, float)) for cell in cells)
        short = all(len(str(cell)) <= NAME for cell in cells)
        kind = ' class="number"' if number else ' class="name"' if short else ""
        heads += f'<th{kind if number else ""} scope="col"><button type="button">{_cell(name)}</button></th>'
        largest = max((abs(cell) for cell in cells if isinstance(cell, float)), default=0.0)
        # the same number of decimals in the whole column: four significant digits for its largest number
        places = max(0, min(3 - math.floor(math.log10(largest)), 12)) if largest else 0
        columns.append([f"<td{kind}>{_cell(cell, places)}</td>" for cell in cells])
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(cell: str | float | None, places: int = 0) -> str:
    if isinstance(cell, float):
        return f"{cell:z.{places}f}"
    return "–" if cell is None else html.escape(show_invisibles(str(cell)))
