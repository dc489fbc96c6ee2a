"""Create a record's output in a notebook: all heads with the clicked one beside them, or a single head.

Like a handout (page.py), it is a page that includes the heads' numbers, so it stays interactive when the
notebook is saved, sent or converted.
"""
import html
from dataclasses import replace

from clearhead.model.core import heads
from clearhead.model.core.query import Kind
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.components.bundle import stylesheet
from clearhead.viz.components.from_record import head_of
from clearhead.viz.components.picture import Grid, head_ids
from clearhead.viz.export import provenance
from clearhead.viz.export.document import as_json, document, module_script, packed
from clearhead.viz.export.handout.build import record_item
from clearhead.viz.export.handout.page import controls, visible_lines
from clearhead.viz.style.text import show_invisibles, strings

COMPONENTS = ("head_grid", "head_view")
CELL, LARGEST = 2, 24 * 2**20   # bytes: of a weight or score in a message, and of all heads at most


def notebook_page(record: AttentionRecord, view: View, *, whole: bool, frame: str) -> bytes:
    """Return the page for an iframe with this name. whole: show all heads of all kinds, the view's kind first, instead
    of only the view's head. Raises UserError if the view cannot be shown."""
    words = strings("handout")["notebook"]
    named = controls() | {"frame": frame} | {name: words[name] for name in ("head", "too_large")}
    about = [" · ".join(provenance.sentences(record)[1]), *record.verification.reasons, *record.notes]
    kinds = [view.kind, *(kind for kind in record.kinds if kind != view.kind)] if whole else [view.kind]
    room = _numbers_a_cell(record, kinds) if whole else 2
    sections = [_section(record, replace(view, kind=kind), whole, room) for kind in kinds]
    if len(kinds) > 1:
        sections = [f'<details name="kind"{"" if at else " open"}><summary>{kind.label(words["kinds"])}</summary>\n'
                    f"{section}</details>" for at, (kind, section) in enumerate(zip(kinds, sections, strict=True))]
    body = f"""{"".join(sections)}
{"".join(f'<p class="from">{html.escape(show_invisibles(line))}</p>' for line in about)}
<script type="application/json" id="words">{as_json(named)}</script>
<script type="application/json" class="source">{as_json(provenance.describe(record, view))}</script>"""
    return document(show_invisibles(record.card.title), stylesheet("notebook/notebook.css"), body,
                    [module_script("notebook/notebook.js", COMPONENTS)])


def _numbers_a_cell(record: AttentionRecord, kinds: list[Kind]) -> int:
    """Return how many numbers per cell fit on the page for all heads: 2 (weight and score), 1 (weight) or 0."""
    cells = sum(layer.heads * layer.shape[1] * layer.shape[2] for kind in kinds for layer in record[kind].layers)
    return min(2, LARGEST // (CELL * cells))


def _section(record: AttentionRecord, view: View, whole: bool, room: int) -> str:
    """Return the HTML of one kind of attention: its thumbnails, and the messages of all heads or only the view's head,
    with `room` numbers per cell."""
    overview = heads.overview(record[view.kind])
    every = head_ids(overview)
    chosen = view.head_id
    if chosen not in every:
        chosen = chosen if not whole else every[0]
    view = replace(view, layer=chosen[0], head=chosen[1], overlay=() if whole else view.overlay,
                   lens="matrix" if view.lens == "picture" else view.lens)
    parts = {'class="state"': head_of(record, view).messages()[1]}
    if whole:
        parts |= zip(('class="grid"', 'class="shown"'), Grid(overview, (-1, -1)).messages(), strict=True)
    for number, (layer, head) in enumerate(every if whole and room else [] if whole else [chosen]):
        shown = head_of(record, replace(view, layer=layer, head=head))
        if room < 2:
            shown = replace(shown, pictures=tuple(replace(each, scores=None) for each in shown.pictures))
        parts[f'data-head="{number}"'] = shown.messages()[0]
    data = "".join(f'<script type="text/plain" {name}>{packed(content)}</script>\n'
                   for name, content in parts.items())
    grid = '<div class="all"></div>' if whole else ""
    hint = strings("handout")["notebook"]["hint"] if whole else ""
    caption = record_item(record, view, grid=whole).caption
    return f"""<section data-kind="{view.kind.value}">
{grid}<div class="one"><h2></h2><p class="hint">{html.escape(hint)}</p><div class="drawn"></div></div>
<p class="said">{html.escape(visible_lines(caption))}</p>
{data}</section>"""
