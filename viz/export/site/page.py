"""Write the HTML page in the browser."""
import html
from urllib.parse import quote

from clearhead.model.core.files import ASSETS
from clearhead.model.core.query import frozen
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.version import VERSION
from clearhead.model.core.view import View
from clearhead.viz.components.bundle import program, stylesheet
from clearhead.viz.components.component import constants
from clearhead.viz.components.from_record import grid_of, head_of
from clearhead.viz.components.messages import pack, root_codes, unpack
from clearhead.viz.components.token_labels import token_axis
from clearhead.viz.export.document import as_json, document, module_script, packed
from clearhead.viz.export.handout.page import controls
from clearhead.viz.export.site.rounding import all_weights
from clearhead.viz.style.text import strings

COMPONENTS = ("head_grid", "head_view", "token_strip")
REACH = 3      # largest temperature, and one over the smallest, as an exponent of 2
HEIGHT = 400   # pixels: of a picture on a telephone
MODEL, OFFLINE = "minilm-8bit.bin", "offline.js"
UNCHANGED: dict[str, object] = {"hide": [], "silence": [], "temper": {}}   # what a reader changes in the model
HEAD = """<meta name="description" content="{about}"/>
<link rel="icon" href="{icon}"/>
"""
BODY = """<header><h1><img src="{icon}" alt="">{title}</h1>
<details><summary id="verdict"></summary><div id="why"></div></details>
<button id="png" title="{png_about}">{png}</button>
<a class="button" id="link" target="_blank" title="{link_about}">{link}</a>
<details><summary>{app}</summary><div><p>{app_about}</p>
<pre tabindex="0">{app_commands}</pre></div></details></header>
<main>
<noscript><p>{no_script}</p></noscript>
<form id="ask"><label class="unseen" for="text">{sentence}</label>
<input type="text" id="text" maxlength="4000" autocomplete="off" spellcheck="false">
<button class="loud">{show}</button>
<button type="button" id="swap" hidden>{swap}</button></form>
<div id="strip"></div>
<div id="both">
<section aria-labelledby="all"><div class="bar"><h2 id="all">{heads}</h2>
<span id="news" role="status">{grid_about}</span></div>
<div id="grid"></div></section>
<section id="one" aria-labelledby="title"><div class="bar"><h2 id="title"></h2><div id="choices"></div></div>
<div id="head"></div></section>
<section id="edits" aria-labelledby="if"><h2 id="if">{what_if}</h2>
<button id="silence" title="{silence_about}">{silence}</button>
<button id="hide" title="{hide_about}">{hide_none}</button>
<label title="{temper_about}">{temper}
<input type="range" id="temper" min="-{reach}" max="{reach}" step="0.05"><span id="t"></span></label>
<div id="changes"></div></section>
</div>
</main>
<footer id="below">{made}</footer>
<script type="application/json" id="data">{fixed}</script>
{recorded}
<script type="text/plain" id="worker">{worker}</script>
{inside}"""


@frozen
class Opening:
    """What the page shows first."""

    records: tuple[AttentionRecord, ...]   # of the exact model; the first one is drawn
    view: View                             # its head and token
    swap: tuple[str, str]                  # two words that a button exchanges
    rounding: float                        # how far the rounded model's weights of attention are from these records'


def page_html(opening: Opening, model: bytes, file: str = "") -> bytes:
    """Return the HTML page. file: the address of the model's file; without one, the page contains the model, and also
    opens from a disk."""
    words, records = strings("site"), opening.records
    told = {name: html.escape(text) for name, text in words.items() if isinstance(text, str)}
    logo = (ASSETS / "images" / "logo-light.svg").read_text(encoding="utf-8")
    mark = logo.partition(">")[2].partition("<!--")[0]   # without the name
    icon = quote(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 27 30">{mark}</svg>')
    recorded = "\n".join(f'<script type="text/plain" class="recorded">{packed(_recorded(record))}</script>'
                         for record in records)
    fixed = _fixed(opening) | {"size": len(model), "file": file, "offline": OFFLINE if file else ""}
    told |= {"swap": html.escape(" ⇄ ".join(opening.swap)), "reach": str(REACH), "fixed": as_json(fixed),
             "icon": f"data:image/svg+xml,{icon}", "recorded": recorded, "app_commands": told["app_commands"].strip(),
             "heads": html.escape(words("grid", count=sum(layer.heads for layer in records[0].maps[0].layers))),
             "made": html.escape(words("source", version=VERSION)),
             "worker": packed(program("site/worker.js", "self").encode()),
             "inside": "" if file else f'<script type="text/plain" id="model">{packed(model)}</script>'}
    return document(words["title"], stylesheet("site/site.css"), BODY.format_map(told),
                    [module_script("site/site.js", COMPONENTS)], head=HEAD.format_map(told),
                    rules="; connect-src 'self'; worker-src 'self' blob:")


def _fixed(opening: Opening) -> dict[str, object]:
    """Return what no answer changes: texts, the first state, and the fields of the components' messages."""
    record, view, words = opening.records[0], opening.view, strings("site")
    head = head_of(record, view).messages(height=HEIGHT)
    grid = grid_of(record, view).messages(height=HEIGHT, silence=True)
    like = {name: unpack(message)[0] for name, message in
            zip(("head", "state", "grid", "gridState"), (*head, *grid), strict=True)}
    like["strip"] = {"part": "body", **constants("strip")}
    first = {"text": record.asked.text, "head": f"{view.layer}.{view.head}", "lens": view.lens, "transpose": False,
             "token": view.token, "pair": None, **UNCHANGED}
    named = {**words, "source": words("source", version=VERSION), "rounding": words("rounding", most=opening.rounding),
             "choices": {name: controls()[name] for name in ("lens", "transpose")}}
    return {"words": named, "first": first, "like": like, "twin": opening.swap}


def _recorded(record: AttentionRecord) -> bytes:
    """Return a message with a record's tokens and the codes of all its weights."""
    return pack({"text": record.asked.text, "tokens": token_axis(record.maps[0].keys), **UNCHANGED},
                {"codes": root_codes(all_weights(record))})
