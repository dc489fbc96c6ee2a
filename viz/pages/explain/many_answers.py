"""The other parts of the page Does attention explain?: many texts, other weights, the famous picture's normalisation,
what was published."""
from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.ask import sources
from model.core import heads
from model.core.record import AttentionMap, AttentionRecord
from model.core.statistics import MeanInterval
from model.core.view import View
from model.studies.attribution import METHODS, NULLS, Attribution, AttributionQuery
from model.studies.faithfulness import Report, by_layer, questions, report, texts
from model.studies.weight_swap import Swapped, SwapQuery
from viz.figures.bars import histogram
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import format_weight, head_label, rank, visible_token
from viz.page import PageContext
from viz.pages.explain.one_answer import agreement_chart, sentence_label
from viz.text import escape_markdown, strings
from viz.theme import READABLE
from viz.widgets.control_widgets import choice_for, toggle_for
from viz.widgets.figure import figure

HIGH = 430    # pixels of a matrix
DRAWS = 100
FAINT = 0.05   # a weight that nobody would point at


def corpus_section(page: PageContext, record: AttentionRecord, view: View, kind: str) -> None:
    """The set: which texts, the question, and what came of it. One question a text, so that a click stops it and others
    come in between."""
    words, model = strings("explain")["set"], page.state.model
    which = sources.text_set(model, kind, page.controls["set"])
    st.markdown(f"##### {words['title']}")
    st.markdown(words["lead"], width=READABLE)
    if which == page.controls["set"]:
        choice_for(page, "set", words["which"], words["names"])
    st.caption(words["about"]["target" if kind == "target" else which], width=READABLE)
    if not page.controls["run"]:
        asks = words["run"].format(model=escape_markdown(record.card.title), count=len(texts(which)))
        st.button(asks, type="primary", on_click=lambda: page.set(run=True))
        st.caption(words["run_about"], width=READABLE)
        return
    wanted, wrong = questions(model, sources.revision(model), kind, which), []
    answers = list(page.ask_each(wanted,
                                 say=lambda number, text: words["progress"].format(number=number + 1, all=len(wanted)),
                                  on_error=lambda number, error: wrong.append(str(error))))
    answered = [answer for answer in answers if answer is not None]
    groups = [text.group for text, answer in zip(texts(which), answers, strict=True) if answer is not None]
    if wrong:
        st.warning(words["left_out"].format(count=len(wrong), all=len(wanted), first=escape_markdown(wrong[0])))
    if not answered:
        st.info(words["nothing"])
        return
    _result(report(answered, groups, view.layer, view.head), view, len(np.concatenate(answered[0].by_head["weight"])))
    if len(answered[0].layers) > 1:
        _layers(answered)


def _result(set_report: Report, view: View, count: int) -> None:
    """Every measure with its intervals over the texts, and what to notice."""
    words, top = strings("explain")["set"], set_report.ceiling[-1].value
    shown = {name: means for name, means in set_report.methods.items() if means[-1].texts}
    if not shown:
        st.info(words["few"])
        return
    values = np.array([[(mean.value, mean.low, mean.high) for mean in means] for means in shown.values()])
    left, right = st.columns([7, 5], gap="large")
    with left:
        agreement_chart(list(shown), values, values[:, -1], view, top, key="explain-set",
                        alt=words["alt"].format(rows=len(shown), texts=set_report.texts, ceiling=top))
    with right:
        st.markdown("\n".join(f"- {line}" for line in set_claims(set_report, view.layer, view.head, count)))


def _layers(attributions: list[Attribution]) -> None:
    """Attention and its norms layer by layer (as Abnar & Zuidema 2020 do)."""
    words, layers = strings("explain")["set"], np.array(attributions[0].layers)
    weight, norm = (np.array(by_layer(attributions, measure)) for measure in ("weight", "norm"))
    drawn = [Line(words["attention"], weight, 0), *([Line(words["norm"], norm, 1)] if np.isfinite(norm).any() else [])]
    best = int(np.nanargmax(weight)) if np.isfinite(weight).any() else 0
    with st.container(width=READABLE):
        st.markdown(f"**{words['by_layer']}**")
        st.caption(words["by_layer_about"])
        figure(lambda theme: lines(theme, layers, drawn, axes=(words["layer"], strings("explain")["sentence"]["axis"]),
                                   height=280),
               key="explain-layers", alt=words["alt_layer"].format(layer=layers[best], most=weight[best]))


def permuted_weights(page: PageContext, question: AttributionQuery, attribution: Attribution, view: View) -> None:
    """The open head with its rows shuffled and made equal."""
    words, place = strings("explain")["swap"], head_label(view.layer, view.head)
    st.markdown(f"##### {words['title']}")
    st.markdown(words["lead"].format(head=place, draws=DRAWS), width=READABLE)
    toggle_for(page, "swap", words["switch"])
    if not page.controls["swap"]:
        return
    swapped: Swapped = page.ask(SwapQuery(question, view.layer, view.head, DRAWS))
    low, middle, high = np.quantile(swapped.permuted, [0.05, 0.5, 0.95])
    edges = np.linspace(0, max(float(swapped.permuted.max()), swapped.even, 1e-9) * 1.02, 25)
    shares = np.histogram(swapped.permuted, edges)[0] / len(swapped.permuted)
    form = "vector" if attribution.answer.kind == "vector" else "word"
    left, right = st.columns([7, 5], gap="large")
    with left:
        figure(lambda theme: histogram(theme, edges, {words["shuffled"]: shares},
                                       axes=(words["axis"][form], words["share"]),
                                       marks=[(swapped.even, words["even"])]),
               key="explain-swap", alt=words["alt"].format(draws=DRAWS, median=middle, even=swapped.even))
    with right:
        st.caption(words["about"][form])
        st.markdown(words["said"].format(median=middle, low=low, high=high, draws=DRAWS, equal=swapped.even,
                                         largest=swapped.largest, entropy=swapped.entropy))
    st.markdown(words["answer"].format(heads=sum(map(len, attribution.by_head["weight"]))), width=READABLE)


def head_shares(page: PageContext, attention_map: AttentionMap, view: View) -> None:
    """The open head as it is beside its share among the heads of its layer."""
    words, layer = strings("explain")["share"], attention_map.layer(view.layer)
    st.markdown(f"##### {words['title']}")
    st.markdown(words["lead"].format(layer=view.layer), width=READABLE)
    toggle_for(page, "share", words["switch"])
    if not page.controls["share"]:
        return
    weights, share = heads.weights(layer, view.head), heads.share_among_heads(layer, view.head)
    rows, columns = ([visible_token(text) for text in tokens.texts]
                     for tokens in (attention_map.queries, attention_map.keys))
    names = (words["row"], words["shared"].format(heads=layer.heads))
    for column, name, numbers, key in zip(st.columns(2, gap="medium"), names, (weights, share), ("softmax", "share"),
                                          strict=True):
        with column:
            st.markdown(f"**{name}**")
            figure(lambda theme, numbers=numbers: matrix(theme, numbers, rows, columns, axes=tuple(words["axes"]),
                                                         height=HIGH, style=CellStyle(ruler=False)),
                   key=f"explain-{key}", alt=words["alt"].format(name=name, rows=len(rows), columns=len(columns)))
    st.markdown(_share_claims(attention_map, view, weights, share), width=READABLE)


def _share_claims(attention_map: AttentionMap, view: View, weights: np.ndarray, share: np.ndarray) -> str:
    """What the shares say: how far columns are from one, and what a large share may hide."""
    names = (attention_map.queries.texts, attention_map.keys.texts)
    among = attention_map.layer(view.layer).heads
    claim = share_claim(weights, share, names, among)
    if view.pair is not None and among > 1:
        claim += " " + strings("explain")["share"]["pair"].format(row=escape_markdown(names[0][view.pair[0]]),
                                            column=escape_markdown(names[1][view.pair[1]]), weight=weights[view.pair],
                                            share=share[view.pair])
    return claim


def literature() -> None:
    """Short quotes, each with its source."""
    words = strings("explain")["published"]
    st.markdown(f"##### {words['title']}")
    st.caption(words["lead"])
    for column, side in zip(st.columns(2, gap="large"), ("against", "both"), strict=True):
        with column:
            st.markdown(f"**{words[side]}**")
            st.markdown("\n\n".join(f"> “{quote['text']}”\n>\n> {quote['source']}" for quote in words["quotes"]
                                    if quote["side"] == side))


def format_interval(mean: MeanInterval) -> str:
    """A mean with its interval."""
    return strings("explain")["set"]["interval"].format(value=mean.value, low=mean.low, high=mean.high)


def set_claims(report: Report, layer: int, head: int, heads: int) -> list[str]:
    """What to notice over many texts."""
    words = strings("explain")["set"]
    proposed = {name: means[-1] for name, means in report.methods.items() if name in METHODS and means[-1].texts}
    if not proposed:
        return [words["few"]]
    best = max(proposed, key=lambda name: proposed[name].value)
    values = [mean.value for mean in proposed.values()]
    lines = [words["said"].format(texts=report.texts, words=report.words, used=report.ceiling[-1].texts),
             words["ceiling"].format(value=format_interval(report.ceiling[-1])),
             words["best"].format(name=sentence_label(best, layer, head), value=format_interval(proposed[best]),
                                  tied=rank(proposed[best].value, values, "{:z.2f}".format)[1])]
    if {"weight_head", "weight_layer"} <= set(proposed):
        lines.append(words["raw"].format(head=head_label(layer, head), value=format_interval(proposed["weight_head"]),
                                         layer=format_interval(proposed["weight_layer"])))
    for null in NULLS:
        name = null.removesuffix("_even")
        if name in proposed and null in report.methods and report.methods[null][-1].texts:
            lines.append(words["null"].format(name=sentence_label(name, layer, head),
                                              value=format_interval(proposed[name]),
                                              null=format_interval(report.methods[null][-1])))
    if heads > 1 and report.best.texts:
        chosen = words["and"].join(dict.fromkeys(head_label(*chosen) for chosen in report.chosen))
        lines.append(words["held_out"].format(chosen=chosen, value=format_interval(report.best), count=heads))
    return lines


def share_claim(weights: np.ndarray, share: np.ndarray, names: tuple[Sequence[str], Sequence[str]],
                heads: int) -> str:
    """What a head's shares among the heads of its layer say, and what they hide. weights and share: (query, key);
    names: of both."""
    words, sums = strings("explain")["share"], share.sum(1)
    if heads == 1:
        return str(words["one"])
    row, column = map(int, np.unravel_index(share.argmax(), share.shape))
    return words["said"].format(
        low=sums.min(), high=sums.max(), row=escape_markdown(names[0][row]), column=escape_markdown(names[1][column]),
        share=share[row, column], weight=format_weight(weights[row, column]), average=1 / heads, faint=FAINT,
        loud=int(((share > 2 / heads) & (weights < FAINT)).sum()), cells=int((weights > 0).sum()))
