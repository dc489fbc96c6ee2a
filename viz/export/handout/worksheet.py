"""Create a worksheet about the user's sentence: the sentence, a figure of all heads or of one, and questions with room
for writing. A second page has the answers, which are computed from the record."""
import base64
import html
from collections.abc import Sequence

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.heads import BY_NAME, measure
from clearhead.model.core.query import HeadId, head_label
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.export import provenance
from clearhead.viz.export.document import document
from clearhead.viz.export.handout.build import record_item
from clearhead.viz.export.handout.page import paper_svg, visible_lines
from clearhead.viz.export.handout.sheet import LINE, STYLE
from clearhead.viz.export.paper.page import Paper
from clearhead.viz.style.text import strings

WORDS = strings("worksheet")

MORE = """
h1 { margin: 0; } .name { margin: 0.4em 0 1em; } figure { margin: 0.6em 0; text-align: center; break-inside: avoid; }
img { max-width: 100%; max-height: var(--figure); }
.teacher-page { break-before: page; }
p.line { height: 1.6em; }
li { margin: 0.3em 0; }
"""
Question = tuple[str, str]   # (question, answer)


def telling_head(attention_map: AttentionMap, token: int) -> HeadId:
    """Return the head that gives a distant word the largest weight from a token, rather than a neighbour, a full stop
    or [CLS]."""
    keys = attention_map.keys
    words = [place for place, text in enumerate(keys.texts) if abs(place - token) > 1 and not keys.special[place]
             and any(map(str.isalpha, text))] or list(range(len(keys)))
    most = {(layer.index, head): float(row[words].max()) for layer in attention_map.layers
            for head, row in enumerate(heads.row_weights(layer, token))}
    return max(most, key=most.__getitem__)


def questions(record: AttentionRecord, view: View, grid: bool) -> dict[str, Question]:
    """Return questions and answers by name. grid: ask about all heads instead of the view's head."""
    words, attention_map = WORDS["asked"], record[view.kind]
    facts: dict[str, object] = {"head": head_label(*view.head_id)}
    if grid:
        measured = measure(attention_map)
        names = [name for name in ("previous", "same", "first") if name in measured.values]
        for name in names:
            best = measured.ranked(name)[0]
            facts |= {name: BY_NAME[name].title, f"{name}_head": head_label(*best[:2]), f"{name}_value": best[2]}
        asked = [*names, "alike", "proof"]
    else:
        layer, token = attention_map.layer(view.layer), view.token or 0
        weights = heads.weights(layer, view.head)
        queries, keys = attention_map.queries.texts, attention_map.keys.texts
        row, received = weights[token], weights.sum(0)
        order, most = np.argsort(-row, kind="stable"), int(received.argmax())
        facts |= {"a": queries[token], "b": keys[order[0]], "weight": float(row[order[0]]),
                  "rest": float(row.sum() - row[order[0]]), "sum": float(row.sum()), "most": keys[most],
                  "received": float(received[most]), "rows": len(queries), "even": 1 / len(keys)}
        asked = ["largest", "rest", "received", "even", "proof"]
    return {name: (words[name]("ask", **facts), words[name]("answer", **facts)) for name in asked}


def worksheet(record: AttentionRecord, view: View, asked: Sequence[Question], *, grid: bool) -> bytes:
    """Return the worksheet as an HTML file with a page for students and a page for the teacher. Raises UserError if the
    view cannot be shown."""
    made = record_item(record, view, grid=grid)
    drawn = base64.b64encode(paper_svg(made.value, Paper()).encode()).decode()
    texts, about = provenance.sentences(record)
    caption = visible_lines(made.caption.split("“")[0] if grid else WORDS(
        "figure", head=head_label(*view.head_id)))
    items = "".join(f"<li>{_shown(ask)}{LINE * (3 if len(asked) < 4 else 2)}</li>" for ask, _ in asked)
    answers = "".join(f"<li>{_shown(ask)}<p class=\"answer\">{_shown(answer)}</p></li>" for ask, answer in asked)
    style = f"{STYLE}{MORE}:root {{ --figure: {144 - 12 * len(asked)}mm; }}"
    return document(visible_lines(WORDS["title"]), style, f"""<h1>{_shown(WORDS["title"])}</h1>
<p class="name">{_shown(WORDS["name"])}</p>
<blockquote><p>{"<br/>".join(map(_shown, texts))}</p></blockquote>
<figure><img alt="{_shown(made.caption)}" src="data:image/svg+xml;base64,{drawn}"/>
<figcaption>{_shown(caption)}</figcaption></figure>
<ol>{items}</ol>
<section class="teacher-page"><h1>{_shown(WORDS["answers"])}</h1>
<ol>{answers}</ol>
<p class="made">{_shown(" · ".join(about))}</p></section>""")


def _shown(text: str) -> str:
    return html.escape(visible_lines(text))
