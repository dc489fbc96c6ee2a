"""The parts of the page Does attention explain? that are about one answer: what is asked, the measures, and whether
they agree."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.core.record import AttentionRecord, Tokens
from model.core.statistics import critical_rho
from model.core.view import View
from model.studies.attribution import (
    FEWEST,
    FLOW_LONGEST,
    METHODS,
    REMOVALS,
    Attribution,
    agreement,
    ceiling,
    first_token,
    kind_of,
    rank_agreement,
)
from model.studies.token_removal import last_word, target_word
from viz.components.token_strip import StripEvent
from viz.examples import example_for, other_twin
from viz.figures.agreement import agreement as agreement_figure
from viz.figures.importance import importance
from viz.format import format_signed, head_label, rank, token_markdown, visible_token
from viz.page import PageContext
from viz.text import escape_markdown, strings
from viz.theme import READABLE
from viz.widgets.control_widgets import button_setting, toggle_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.sentence_strip import sentence_strip

GROUPS = (("weight_head", "weight_layer"), ("norm_head", "norm", "norm_residual", "norm_layernorm"),
          ("rollout", "rollout_even", "flow", "flow_even"), ("gradient",))
KINDS = ("next", "mask", "label", "target", "vector")


def answer_kind(record: AttentionRecord) -> str:
    """How the model answers: next, mask, label, target or vector; empty for any other."""
    answered = record.prediction
    kind = "mask" if answered is None else answered.kind
    return kind if kind in KINDS else ""


def question_controls(page: PageContext, record: AttentionRecord) -> None:
    """The controls of what is asked: the word, its rival, or the other sentence."""
    words, way, controls = strings("explain"), answer_kind(record), page.controls
    if not way:
        return
    st.caption(words["click"][way])
    if way == "vector":
        st.text_input(words["other"], max_chars=300, placeholder=comparison_sentence(page), help=words["other_help"],
                      **bind(page.set, "other", controls["other"]))
        return
    tokens = record[kind_of(record)].queries
    if way == "target":
        chosen = controls["at"] if controls["at"] >= 0 else target_word(tokens)
        sentence_strip(tokens, focus=min(chosen, len(tokens) - 1), pairs=False, key="explain_strip",
                       on_event=lambda event: page.set(at=max(1, event.token or 0)))
    elif way != "label":
        sentence_strip(tokens, focus=_focus(page, tokens), pairs=False, key="explain_strip",
                       on_event=lambda event: _take(page, tokens, event))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if way == "next":
            button_setting(page, words["after"], "explain_after", at=len(page.state.text))
        st.text_input(words["word"], max_chars=40, help=words["word_help"], width=220,
                      **bind(page.set, "word", controls["word"]))
        st.text_input(words["rival"], max_chars=40, help=words["rival_help"], width=220,
                      **bind(page.set, "rival", controls["rival"]))


def matching_view(record: AttentionRecord, view: View) -> View:
    """The view on the attention that the answer's row belongs to: of an encoder–decoder that over the source, where the
    same head is open if it has one of these numbers, else its first."""
    kind = kind_of(record)
    first = record[kind].layers[0].index
    if kind is view.kind:
        return view
    layer, head = (view.layer, view.head) if record[kind].has(view.layer, view.head) else (first, 0)
    return replace(view, kind=kind, pair=None, layer=layer, head=head)


def comparison_sentence(page: PageContext) -> str:
    """The sentence that a vector is compared with: the one that was typed, or the twin of an example, or the text
    without its last word."""
    typed, text = page.controls["other"].strip(), page.state.text
    example = example_for(text, page.state.text_b)
    return typed or (example and other_twin(example, text)) or " ".join(text.split()[:-1])


def _focus(page: PageContext, tokens: Tokens) -> int | None:
    """The word that is asked for; None for what comes next."""
    at = page.controls["at"] if page.controls["at"] >= 0 else last_word(tokens, page.state.text)
    return next((token for token, (start, end) in enumerate(tokens.spans)
                 if start <= at < end and not tokens.special[token]), None)


def _take(page: PageContext, tokens: Tokens, event: StripEvent) -> None:
    if event.token is not None and not tokens.special[event.token]:
        page.set(at=tokens.spans[event.token][0])


def importance_section(page: PageContext, attribution: Attribution, view: View) -> None:
    """Every measure of every token."""
    words, answer = strings("explain")["picture"], attribution.answer
    measured, count = attribution.by_method(view.layer, view.head), len(attribution.tokens)
    flat = all(np.ptp(attribution.scores[name][attribution.ranked]) < 1e-9 for name in ("rollout_even", "flow_even")
               if name in attribution.scores)
    groups = [[(words["names"][name], attribution.removed[name]) for name in REMOVALS]]
    groups += [[(label(name, view.layer, view.head), measured[name]) for name in group
                if name in measured and not (flat and name.endswith("_even"))] for group in GROUPS]
    twice = {text for text in attribution.tokens.texts if attribution.tokens.texts.count(text) > 1}
    names = [visible_token(text) + (f" {place}" if text in twice else "")
             for place, text in enumerate(attribution.tokens.texts)]
    apart = (~attribution.ranked).tolist()
    most = int(np.abs(np.where(attribution.ranked, attribution.removed["deleted"], 0)).argmax())
    st.markdown(f"##### {words['title']}")
    st.markdown(value_claim(attribution))
    with st.container(width=READABLE):
        unit = words["unit"]["cosine" if answer.kind == "vector" else "nats"]
        st.caption(f"{words['lead'].format(neutral=f'“{escape_markdown(answer.neutral)}”')} {unit}")
    figure(lambda theme: importance(theme, [group for group in groups if group], names, apart, title=words["tokens"],
                                    apart_title=words["apart"]),
           key="explain-picture",
           alt=words["alt"].format(rows=sum(map(len, groups)), tokens=count, most=attribution.tokens.texts[most]))
    _picture_caption(page, attribution, flat)


def _picture_caption(page: PageContext, attribution: Attribution, flat: bool) -> None:
    """Which tokens stand apart and why, what the even rows are, and which measures are missing."""
    words, apart = strings("explain")["picture"], apart_claim(attribution)
    sentences = [apart] if apart else []
    if not flat:
        sentences.append(words["even"])
    for why in dict.fromkeys(attribution.missing.values()):
        names = [escape_markdown(words["told"].get(name, words["names"][name]).format(head="", layer="").strip(" ,"))
                 for name, reason in attribution.missing.items() if reason == why]
        sentences.append(words["missing"].format(name=words["and"].join(names), why=escape_markdown(why)))
    with st.container(width=READABLE):
        st.caption(" ".join(sentences))
    if len(attribution.tokens) > FLOW_LONGEST:
        toggle_for(page, "flow", words["long_flow"], help=words["long_flow_help"])


def agreement_section(attribution: Attribution, view: View) -> None:
    """The rank correlations of this one answer, and how little one sentence says."""
    words, count = strings("explain")["sentence"], int(attribution.ranked.sum())
    st.markdown(f"##### {words['title']}")
    if why := no_order(attribution):
        st.info(why)
        return
    top, luck = float(ceiling(attribution).mean()), critical_rho(count)
    rhos = {name: rho for name, rho in agreement(attribution, view.layer, view.head).items() if np.isfinite(rho).any()}
    st.markdown(words["lead"].format(count=count), width=READABLE)
    values = np.array(list(rhos.values()))
    left, right = st.columns([7, 5], gap="large")
    with left:
        agreement_chart(list(rhos), values, values.mean(1), view, top, chance=(luck, words["chance"]),
                        key="explain-agreement", alt=words["alt"].format(rows=len(rhos), ceiling=top, chance=luck))
    with right:
        st.warning(words["warning"].format(count=count, chance=luck))
        st.markdown(f"**{words['notice']}**\n"
                    + "\n".join(f"- {line}" for line in answer_claims(attribution, view.layer, view.head)))


def agreement_chart(measures: list[str], values: np.ndarray, mean: np.ndarray, view: View, top: float, *, key: str,
                    alt: str, chance: tuple[float, str] | None = None) -> None:
    """Draws how far the order of each measure agrees with that of each removal, (measure, removal) or with intervals
    (measure, removal, 3), and in the mean. top: the ceiling. chance: |ρ| up to which nothing is said, and words."""
    words, removals = strings("explain")["sentence"], strings("explain")["picture"]["names"]
    names = {name: label(name, view.layer, view.head) for name in measures}
    columns = {removals[name]: values[:, place] for place, name in enumerate(REMOVALS)}
    quiet = [names[name] for name in measures if name.endswith("_even")]
    figure(lambda theme: agreement_figure(theme, list(names.values()), columns, (words["mean"], mean),
                                          ceiling=(top, words["ceiling"].format(value=top)), chance=chance,
                                          axis=words["axis"], quiet=quiet), key=key, alt=alt)


def label(name: str, layer: int, head: int) -> str:
    """A measure as the figures name it."""
    return strings("explain")["picture"]["names"][name].format(head=head_label(layer, head), layer=layer)


def sentence_label(name: str, layer: int, head: int) -> str:
    """A measure as a sentence names it, where no row above says what it belongs to."""
    return strings("explain")["picture"]["told"].get(name) or label(name, layer, head)


def value_claim(attribution: Attribution) -> str:
    """The number that is explained."""
    words, answer = strings("explain")["value"], attribution.answer
    form = "rival" if answer.rival and answer.kind != "vector" else answer.kind
    before = "" if attribution.place is None else token_markdown(attribution.tokens.texts[attribution.place])
    return words[form].format(word=f"*{escape_markdown(answer.word)}*", rival=f"*{escape_markdown(answer.rival)}*",
                              value=answer.value, rank=answer.rank,
                              chance=np.exp(min(answer.value, 0)), before=f"“{before}”")


def apart_claim(attribution: Attribution) -> str:
    """Which tokens are not ranked and why; nothing where all are ranked."""
    words, tokens = strings("explain")["picture"], attribution.tokens
    there = {"special": any(tokens.special), "place": attribution.place is not None,
             "first": not tokens.special[0] and np.isnan(attribution.removed["hidden"][0]) and attribution.place != 0}
    apart = "; ".join(words["apart_what"][name] for name, holds in there.items() if holds)
    return words["apart_said"].format(what=apart) if apart else ""


def no_order(attribution: Attribution) -> str:
    """Why nothing can be correlated: too few tokens, or effects that do not differ; nothing where it can."""
    words, count = strings("explain")["sentence"], int(attribution.ranked.sum())
    if count < FEWEST:
        return words["few"].format(count=count)
    return "" if np.isfinite(ceiling(attribution).mean()) else words["flat"]


def answer_claims(attribution: Attribution, layer: int, head: int) -> list[str]:
    """What to notice about one answer. Sentences in Markdown; none where nothing can be correlated."""
    words, top = strings("explain")["sentence"], float(ceiling(attribution).mean())
    means = {name: float(rhos.mean()) for name, rhos in agreement(attribution, layer, head).items()
             if np.isfinite(rhos).all()}
    proposed = {name: mean for name, mean in means.items() if name in METHODS}
    if not proposed or not np.isfinite(top):
        return []
    best = max(proposed, key=proposed.__getitem__)
    head_rho, layer_rho = (format_signed(means.get(f"weight_{name}", np.nan), ".2f") or "–"
                           for name in ("head", "layer"))
    sentences = [words["ceiling_said"].format(ceiling=top),
                 words["best"].format(best=sentence_label(best, layer, head), best_value=proposed[best],
                                      tied=rank(proposed[best], proposed.values(), "{:z.2f}".format)[1], head=head_rho,
                                      layer=layer_rho, chance=critical_rho(int(attribution.ranked.sum())))]
    for name in ("rollout", "flow"):
        if {name, f"{name}_even"} <= attribution.scores.keys():
            rho = rank_agreement(*(attribution.scores[each][attribution.ranked] for each in (name, f"{name}_even")))
            sentences += [words["position"].format(name=label(name, 0, 0), rho=rho)] if np.isfinite(rho) else []
    outside = float(attribution.by_method(layer, head)["weight_head"][~attribution.ranked].sum())
    sentences.append(words["sink"].format(share=outside))
    first = first_token(attribution, layer, head)
    if first is not None and np.isfinite([first.apart, first.ranked]).all():
        sentences.append(words["first"].format(
            token=token_markdown(attribution.tokens.texts[0]), head=first.head, layer=first.layer, effect=first.effect,
            rank=first.rank, count=first.count, apart=first.apart, ranked=first.ranked))
    return sentences
