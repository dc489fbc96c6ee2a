"""The page on explanations: does attention explain an answer? Each token's importance for the answer, compared with
methods that read attention."""
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.query import UserError, head_label, isolated, with_arrays
from clearhead.model.core.record import AttentionMap, AttentionRecord
from clearhead.model.core.statistics import FEWEST as FEWEST_UNITS
from clearhead.model.core.statistics import MeanInterval, critical_rho
from clearhead.model.core.view import View
from clearhead.model.studies.attribution import (
    FEWEST,
    FLOW_LONGEST,
    METHODS,
    REMOVALS,
    Attribution,
    AttributionQuery,
    SwapQuery,
    agreement,
    ceiling,
    kind_of,
    rank_agreement,
)
from clearhead.model.studies.faithfulness import (
    AttributionsQuery,
    FaithfulnessReport,
    by_layer,
    questions,
    report,
    texts,
)
from clearhead.model.studies.token_removal import last_word, target_word
from clearhead.viz.app.examples import comparison_text
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Switch, Words, position
from clearhead.viz.components.component import Selection
from clearhead.viz.components.token_strip import token_strip
from clearhead.viz.figures.bars import histogram
from clearhead.viz.figures.heads import agreement as agreement_figure
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, importance, matrix
from clearhead.viz.style.format import visible_token
from clearhead.viz.style.numbers import format_signed, rank
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.style.theme import READABLE
from clearhead.viz.widgets.fields import button_setting
from clearhead.viz.widgets.figure import figure
from clearhead.viz.widgets.fragment import folded, folded_formula
from clearhead.viz.widgets.head_picker import real_head
from clearhead.viz.widgets.layout import bullets, flex_row, heading, opening, prose, split
from clearhead.viz.widgets.measured import is_shipped, measured_line
from clearhead.viz.widgets.part import Part

WORDS = strings("faithfulness")

PAGE = Page("record", without=("scratch",), controls=(   # it has no answer to explain
    position("at", 99_999), Words("word", "", 40), Words("rival", "", 40), Words("other", "", 300),
    Switch("flow"),
    Choice("set", "sentences", ("sentences", "agreement")), Switch("run"), Switch("swap"), Switch("share"),
    Switch("all")))
GROUPS = (("weight_head", "weight_layer"), ("norm_head", "norm", "norm_residual", "norm_layernorm"),
          ("rollout", "rollout_even", "flow", "flow_even"), ("gradient",))
KINDS = ("next", "mask", "label", "target", "vector")
HIGH = 430    # height of a matrix in pixels
DRAWS = 100
FEW = (("weight_head", "weight_layer"),)   # methods drawn by default


def render(page: PageContext) -> None:
    """Draw the page."""
    words = opening("faithfulness", READABLE)
    record, chosen = real_head(page, token=False)
    view = matching_view(record, chosen)
    if view.kind is not chosen.kind:
        st.caption(words("cross", layer=view.layer, head=view.head), width=READABLE)
    question_controls(page, record)
    question = _question(page, answer_kind(record))
    try:
        attribution = page.ask(question)
    except UserError as error:
        st.error(escape_markdown(error))
    else:
        found = agreement_of(attribution, view)
        prose(f"{value_claim(attribution)} {verdict(found, view)}")
        importance_section(page, attribution, view)
        agreement_section(page, attribution, found, view)
        corpus_section(page, record, view, attribution.answer.kind)
        permuted_weights(page, question, attribution, view)
    head_shares(page, record[view.kind], view)
    folded(words["published"]["title"], _literature, key="explain-published")
    folded_formula(words["formulas"], _proof, key="explain-formula")


def _question(page: PageContext, way: str) -> AttributionQuery:
    """Return the query for the page's controls. Controls that the model does not read are omitted, so that equal
    questions share a cached answer."""
    controls, query = page.controls, page.query()
    if way == "vector":
        return AttributionQuery(query, other=comparison_sentence(page), long_flow=controls["flow"])
    at = None if controls["at"] < 0 else controls["at"]
    if at is not None and way != "target":
        at = min(at, len(page.text))
    return AttributionQuery(query, at, controls["word"], controls["rival"], long_flow=controls["flow"])


def _proof() -> tuple[Callable, ...]:
    """Return the functions that compute the measures."""
    from clearhead.model.core import statistics
    from clearhead.model.studies import rollout
    from clearhead.model.studies.attribution import permute_rows

    return (rollout.with_residual, rollout.rollout, rollout.flow, rollout.transformed_values, rollout.contributions,
            rollout.apply_norm, rollout.by_stage, statistics.rank_correlations, rank_agreement, permute_rows,
            heads.share_among_heads)


def answer_kind(record: AttentionRecord) -> str:
    """Return the kind of answer: next, mask, label, target or vector; "" for any other."""
    answered = record.prediction
    kind = "mask" if answered is None else answered.kind
    return kind if kind in KINDS else ""


def question_controls(page: PageContext, record: AttentionRecord) -> None:
    """Draw the question's controls: the word, its rival, or the other sentence."""
    words, way, controls = Part(page, WORDS), answer_kind(record), page.controls
    if not way:
        return
    st.caption(words["click"][way])
    if way == "vector":
        words.field("other", placeholder=comparison_sentence(page))
        return
    tokens = record[kind_of(record)].queries
    if way == "target":
        chosen = controls["at"] if controls["at"] >= 0 else target_word(tokens)
        token_strip(tokens, focus=min(chosen, len(tokens) - 1), pairs=False, key="explain_strip",
                    on_event=lambda event: page.set(at=max(1, event.token or 0)))
    elif way != "label":
        at = controls["at"] if controls["at"] >= 0 else last_word(tokens, page.text)

        def take(event: Selection) -> None:
            if event.token is not None and not tokens.special[event.token]:
                page.set(at=tokens.spans[event.token][0])

        # the token of the word to explain; None for the next word
        focus = next((token for token, (start, end) in enumerate(tokens.spans)
                      if start <= at < end and not tokens.special[token]), None)
        token_strip(tokens, focus=focus, pairs=False, key="explain_strip", on_event=take)
    with flex_row("bottom"):
        if way == "next":
            button_setting(page, words["after"], "explain_after", at=len(page.text))
        for name in ("word", "rival"):
            words.field(name, width=220)


def matching_view(record: AttentionRecord, view: View) -> View:
    """Return the view with the kind of attention in the answer's row (for an encoder–decoder, cross-attention). The
    open head stays if it exists in that kind; otherwise its first head is opened."""
    kind = kind_of(record)
    if kind is view.kind:
        return view
    layer, head = view.head_id if record[kind].has(*view.head_id) else (record[kind].layers[0].index, 0)
    return replace(view, kind=kind, pair=None, layer=layer, head=head)


def comparison_sentence(page: PageContext) -> str:
    """Return the sentence to compare a vector with: the typed one or a default one."""
    return page["other"].strip() or comparison_text(page.text, page.state.text_b)


def importance_section(page: PageContext, attribution: Attribution, view: View) -> None:
    """Draw every token's importance by every measure."""
    words, answer, texts = Part(page, WORDS["picture"]), attribution.answer, attribution.tokens.texts
    measured, whole = attribution.by_method(*view.head_id), page["all"]
    flat = all(np.ptp(attribution.scores[name][attribution.ranked]) < 1e-9 for name in ("rollout_even", "flow_even")
               if name in attribution.scores)
    groups = [[(words["names"][name], attribution.removed[name]) for name in (REMOVALS if whole else REMOVALS[:1])]]
    groups += [[(label(name, view.layer, view.head), measured[name]) for name in group
                if name in measured and not (flat and name.endswith("_even"))] for group in (GROUPS if whole else FEW)]
    names = [isolated(visible_token(text)) + (f" {place}" if texts.count(text) > 1 else "")
             for place, text in enumerate(texts)]
    most = np.abs(np.where(attribution.ranked, attribution.removed["deleted"], 0)).argmax()
    unit = words["unit"]["cosine" if answer.kind == "vector" else "nats"]
    heading(words["title"], help=f"{words('lead', neutral=f'“{escape_markdown(answer.neutral)}”')} {unit}")
    words.tell(rows=sum(map(len, groups)), tokens=len(texts), most=texts[most])
    words.figure(importance, list(filter(None, groups)), names, (~attribution.ranked).tolist(), title=words["tokens"],
                 apart_title=words["apart"], key="explain-picture")
    _picture_caption(words, attribution, flat)


def _picture_caption(words: Part, attribution: Attribution, flat: bool) -> None:
    """Draw the caption: the unranked tokens and the reason, the uniform rows, and the missing measures."""
    sentences = [apart_claim(attribution)]
    if words.toggle("all"):
        sentences += [] if flat else [words["even"]]
        for why in dict.fromkeys(attribution.missing.values()):
            names = [escape_markdown(words["names"](name, head="", layer="").strip(" ,"))
                     for name, reason in attribution.missing.items() if reason == why]
            sentences.append(words("missing", name=words["and"].join(names), why=escape_markdown(why)))
    st.caption(" ".join(filter(None, sentences)), width=READABLE)
    if len(attribution.tokens) > FLOW_LONGEST:
        words.toggle("flow")


@with_arrays
class Agreement:
    """How far the measures' rankings of an answer's tokens agree with the measured effects."""

    count: int                     # number of ranked tokens
    chance: float                  # the |ρ| that one unrelated ranking in twenty reaches
    ceiling: float                 # how well the ways of removing a token agree
    rhos: dict[str, np.ndarray]    # by measure, (removal)

    @property
    def missing(self) -> str:
        """Why nothing can be correlated (too few tokens, or equal effects); "" if it can."""
        if self.count < FEWEST:
            return WORDS["sentence"]("few", found=self)
        return "" if np.isfinite(self.ceiling) else WORDS["sentence"]["flat"]


def agreement_of(attribution: Attribution, view: View) -> Agreement:
    """Compare all rankings of an answer's tokens, the open head's included, with the measured effects."""
    count = int(attribution.ranked.sum())
    return Agreement(count, critical_rho(count), ceiling(attribution).mean(),
                     agreement(attribution, view.layer, view.head))


def verdict(found: Agreement, view: View) -> str:
    """Return the main finding: how far the open head's attention agrees with the tokens' importance, and the chance
    level."""
    rhos = found.rhos.get("weight_head")
    if found.missing or rhos is None or not np.isfinite(rhos).any():
        return ""
    return WORDS["sentence"]("verdict", head=view.head_id, rho=np.nanmean(rhos), found=found)


def agreement_section(page: PageContext, attribution: Attribution, found: Agreement, view: View) -> None:
    """Draw the rank correlations for this answer, and the limits of a single sentence."""
    words = WORDS["sentence"]
    heading(words["title"], help=words("lead", found=found))
    if found.missing:
        st.info(found.missing)
        return
    rhos = {name: rho for name, rho in found.rhos.items() if np.isfinite(rho).any()}
    values = np.array(list(rhos.values()))
    left, right = split(7, 5, gap="large")
    with left:
        agreement_chart(list(rhos), values if page["all"] else None, values.mean(1), view, found.ceiling,
                        chance=(found.chance, words["chance"]), key="explain-agreement",
                        alt=words("alt", rows=len(rhos), found=found))
    with right:
        st.markdown(bullets(answer_claims(attribution, found, view)))


def agreement_chart(measures: list[str], values: np.ndarray | None, mean: np.ndarray, view: View, top: float, *,
                    key: str, alt: str, chance: tuple[float, str] | None = None) -> None:
    """Draw each measure's rank agreement with each way of removing tokens.

    values: (measure, removal), or with intervals (measure, removal, 3), or None to draw only `mean`. top: the ceiling.
    chance: the critical |ρ| and its label.
    """
    words, removals = WORDS["sentence"], WORDS["picture"]["names"]
    names = {name: label(name, view.layer, view.head) for name in measures}
    columns = {} if values is None else {removals[name]: values[:, place] for place, name in enumerate(REMOVALS)}
    quiet = [names[name] for name in measures if name.endswith("_even")]
    figure(agreement_figure, list(names.values()), columns, (words["mean"], mean),
           ceiling=(top, words("ceiling", value=top)), chance=chance,
           axis=words["axis"], quiet=quiet, key=key, alt=alt)


def label(name: str, layer: int, head: int) -> str:
    """Return a measure's name in figures."""
    return WORDS["picture"]["names"](name, head=head_label(layer, head), layer=layer)


def value_claim(attribution: Attribution) -> str:
    """Describe the number to explain."""
    answer = attribution.answer
    form = "vector" if answer.kind == "vector" else "rival" if answer.rival else "word"
    return WORDS["value"](form, word=f"*{escape_markdown(answer.word)}*", rival=f"*{escape_markdown(answer.rival)}*",
                          answer=answer, chance=np.exp(min(answer.value, 0)))


def apart_claim(attribution: Attribution) -> str:
    """Say which tokens are not ranked, and why; "" if all are."""
    words, tokens = WORDS["picture"], attribution.tokens
    there = {"special": any(tokens.special), "place": attribution.place is not None,
             "first": not tokens.special[0] and np.isnan(attribution.removed["hidden"][0]) and attribution.place != 0}
    apart = "; ".join(words["apart_what"][name] for name, holds in there.items() if holds)
    return words("apart_said", what=apart) if apart else ""


def answer_claims(attribution: Attribution, found: Agreement, view: View) -> list[str]:
    """Return Markdown sentences on what to notice about one answer; none if nothing can be correlated."""
    words = WORDS["sentence"]
    means = {name: rhos.mean() for name, rhos in found.rhos.items() if np.isfinite(rhos).all()}
    proposed = {name: mean for name, mean in means.items() if name in METHODS}
    if not proposed:
        return []
    best = max(proposed, key=proposed.__getitem__)
    head_rho, layer_rho = (format_signed(means.get(f"weight_{name}", np.nan), ".2f") or "–"
                           for name in ("head", "layer"))
    outside = attribution.by_method(*view.head_id)["weight_head"][~attribution.ranked].sum()
    return [words("ceiling_said", found=found),
            words("best", best=label(best, view.layer, view.head), best_value=proposed[best],
                  tied=rank(proposed[best], proposed.values(), "{:z.2f}".format)[1], head=head_rho, layer=layer_rho,
                  found=found, n=len(proposed), outside=sum(abs(mean) > found.chance for mean in proposed.values())),
            words("sink", share=outside)]


def corpus_section(page: PageContext, record: AttentionRecord, view: View, kind: str) -> None:
    """Draw the set of texts, the question about it, and the result. Each text is one query, so that a click can stop
    the run and other visitors are served in between."""
    words, model = Part(page, WORDS["set"]), page.model
    which = desk.text_set(model, kind, page["set"])
    given = texts(which)
    words.opening(width=READABLE)
    if which == page["set"]:
        words.choice("set", "names")
    st.caption(words["about"]["target" if kind == "target" else which], width=READABLE)
    whole, wrong = AttributionsQuery(model, page.revision, kind, which), list[str]()
    if is_shipped(whole) and not page["run"]:
        measured_line(whole, "explain", "faithfulness", again=lambda: page.set(run=True))
        answers: list[Attribution | None] = list(page.ask(whole))
    elif not page["run"]:
        asks = words("run", model=escape_markdown(record.card.title), count=len(given))
        st.button(asks, type="primary", on_click=lambda: page.set(run=True))
        st.caption(words["run_about"], width=READABLE)
        return
    else:
        answers = list(page.ask_each(questions(model, whole.revision, kind, which),
                                     say=lambda number, text: words("progress", number=number + 1, all=len(given)),
                                     on_error=lambda number, error: wrong.append(str(error))))
    answered = [answer for answer in answers if answer is not None]
    groups = [text.group for text, answer in zip(given, answers, strict=True) if answer is not None]
    if wrong:
        st.warning(words("left_out", count=len(wrong), all=len(answers), first=escape_markdown(wrong[0])))
    if not answered:
        st.info(words["nothing"])
        return
    _result(words, report(answered, groups, view.layer, view.head), view,
            len(np.concatenate(answered[0].by_head["weight"])))
    if len(answered[0].layers) > 1:
        _layers(words, answered)


def _result(words: Part, set_report: FaithfulnessReport, view: View, count: int) -> None:
    """Draw every measure with its interval over the texts, and what to notice."""
    top = set_report.ceiling[-1].value
    shown = {name: means for name, means in set_report.methods.items() if means[-1].texts}
    if not shown:
        st.info(words["few"])
        return
    values = np.array([[(mean.value, mean.low, mean.high) for mean in means] for means in shown.values()])
    left, right = split(7, 5, gap="large")
    with left:
        agreement_chart(list(shown), values, values[:, -1], view, top, key="explain-set",
                        alt=words("alt", rows=len(shown), texts=set_report.texts, ceiling=top))
    with right:
        st.markdown(bullets(set_claims(words, set_report, view, count)))


def _layers(words: Part, attributions: list[Attribution]) -> None:
    """Draw attention and its norms layer by layer (as in Abnar & Zuidema 2020)."""
    layers = np.array(attributions[0].layers)
    weight, norm = (np.array(by_layer(attributions, measure)) for measure in ("weight", "norm"))
    drawn = [Line(words["attention"], weight, 0), *([Line(words["norm"], norm, 1)] if np.isfinite(norm).any() else [])]
    best = np.nanargmax(weight) if np.isfinite(weight).any() else 0
    words.tell(layer=layers[best], most=weight[best])
    with st.container(width=READABLE):
        st.markdown(f"**{words['by_layer']}**")
        st.caption(words["by_layer_about"])
        words.figure(lines, layers, drawn, height=280, key="explain-layers", kind="layer")


def permuted_weights(page: PageContext, question: AttributionQuery, attribution: Attribution, view: View) -> None:
    """Draw the effect of shuffling the open head's rows, and of making them uniform."""
    words, form = Part(page, WORDS["swap"], head=view.head_id, draws=DRAWS), attribution.answer.kind
    form = "vector" if form == "vector" else "word"
    words.opening(width=READABLE)
    if not words.toggle("swap"):
        return
    swapped = page.ask(SwapQuery(question, view.layer, view.head, DRAWS))
    low, middle, high = np.quantile(swapped.permuted, [0.05, 0.5, 0.95])
    edges = np.linspace(0, max(swapped.permuted.max(), swapped.even, 1e-9) * 1.02, 25)
    words.tell(median=middle, low=low, high=high, swapped=swapped)
    left, right = split(7, 5, gap="large")
    with left:
        words.figure(histogram, edges, {words["shuffled"]: np.histogram(swapped.permuted, edges)[0] / DRAWS},
                     axes=tuple(words["axis"][form]), marks=[(swapped.even, words["even"])], key="explain-swap")
    with right:
        st.caption(words["about"][form])
        st.markdown(words("said"))
    st.markdown(words("answer", heads=sum(map(len, attribution.by_head["weight"]))), width=READABLE)


def head_shares(page: PageContext, attention_map: AttentionMap, view: View) -> None:
    """Draw the open head's weights beside its share among its layer's heads."""
    words, layer = Part(page, WORDS["share"], layer=view.layer), attention_map.layer(view.layer)
    words.opening(width=READABLE)
    if not words.toggle("share"):
        return
    attention_map.check_unsigned("a share among heads")
    weights, share = heads.weights(layer, view.head), heads.share_among_heads(layer, view.head)
    queries, keys = attention_map.queries.texts, attention_map.keys.texts
    titles = (words["row"], words("shared", heads=layer.heads))
    for column, name, numbers, key in zip(split(), titles, (weights, share), ("softmax", "share"),
                                          strict=True):
        words.tell(name=name, rows=len(queries), columns=len(keys))
        with column:
            st.markdown(f"**{name}**")
            words.figure(matrix, numbers, list(map(visible_token, queries)), list(map(visible_token, keys)),
                         height=HIGH, style=CellStyle(ruler=False), key=f"explain-{key}")
    at, sums = np.unravel_index(share.argmax(), share.shape), share.sum(1)
    st.markdown(words("said", low=sums.min(), high=sums.max(), row=escape_markdown(queries[at[0]]),
                      column=escape_markdown(keys[at[1]]), share=share[at], weight=weights[at]), width=READABLE)


def _literature() -> None:
    """Draw short quotations with their sources."""
    words = WORDS["published"]
    st.caption(words["lead"])
    for column, side in zip(split(gap="large"), ("against", "both"), strict=True):
        quotes = [f"> “{quote['text']}”\n>\n> {quote['source']}" for quote in words["quotes"] if quote["side"] == side]
        column.markdown("\n\n".join([f"**{words[side]}**", *quotes]))


def format_interval(mean: MeanInterval) -> str:
    """Format a mean with its interval, or why it has none."""
    return WORDS["set"]("interval" if np.isfinite(mean.low) else "no_interval", mean=mean, fewest=FEWEST_UNITS)


def set_claims(words: Part, found: FaithfulnessReport, view: View, count: int) -> list[str]:
    """Return sentences on what to notice over many texts."""
    proposed = {name: means[-1] for name, means in found.methods.items() if name in METHODS and means[-1].texts}
    if not proposed:
        return [words["few"]]
    best = max(proposed, key=lambda name: proposed[name].value)
    lines = [words("said", found=found, used=found.ceiling[-1].texts),
             words("ceiling", value=format_interval(found.ceiling[-1])),
             words("best", name=label(best, view.layer, view.head), value=format_interval(proposed[best]),
                   tied=rank(proposed[best].value, (mean.value for mean in proposed.values()), "{:z.2f}".format)[1])]
    if {"weight_head", "weight_layer"} <= set(proposed):
        lines.append(words("raw", head=view.head_id, value=format_interval(proposed["weight_head"]),
                           layer=format_interval(proposed["weight_layer"])))
    if count > 1 and found.best.texts:
        chosen = words["and"].join(dict.fromkeys(head_label(*head) for head in found.chosen))
        lines.append(words("held_out", chosen=chosen, value=format_interval(found.best), count=count))
    return lines
