"""The page Heads: what each attention head attends to. The sentence or picture, all heads, one head open, and sections
on what the model does: writing, translating, reading a picture."""
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

import streamlit as st

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core import heads
from clearhead.model.core.heads import MeasuresQuery
from clearhead.model.core.query import Kind, UserError
from clearhead.model.core.record import AttentionRecord
from clearhead.model.core.view import View
from clearhead.viz.app.examples import Example, example_for, other_twin, word_at
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Switch, counted, position
from clearhead.viz.pages.heads import answers, explorer
from clearhead.viz.pages.heads.explorer import displayed, edited, of_picture
from clearhead.viz.pages.heads.introduction import introduce, tour_button, tour_card
from clearhead.viz.pages.heads.prediction import PREDICT, covered_head, is_covered, score_panel, start_button
from clearhead.viz.style.text import escape_markdown, strings
from clearhead.viz.widgets.fields import text_field
from clearhead.viz.widgets.fragment import (
    PLAYING,
    errors_as_sentences,
    folded,
    folded_formula,
    fragment,
    model_button,
    repeat,
)
from clearhead.viz.widgets.handout_button import OFFERED, offer_picture
from clearhead.viz.widgets.layout import flex_row, heading, split
from clearhead.viz.widgets.vocabulary import vocabulary

WORDS = strings("heads")

# the sections below the explorer, by the module of this folder that draws them
SECTIONS = {"next_word": "next_word", "words": "translate", "decide": "translate",
            **dict.fromkeys(("layers", "positions", "similar", "norms", "rollout"), "pictures"),
            **dict.fromkeys(("why", "writes"), "circuits")}
PAGE = Page("record", pictures=True, controls=(
    *explorer.CONTROLS, *PREDICT, Choice("section", "", tuple(SECTIONS)),   # section: unfolded from the start
    Number("t", 1.0, 0.05, 10), counted("top_k", 1001), Number("top_p", 1.0, 0.01, 1),   # of the next token
    Choice("mode", "zero", ("zero", "mean")), Switch("set"),   # of il or elle
    # of a picture: a measure, the patch whose position is compared, the layer, and the share that rollout discards
    Choice("measure", "distance", ("distance", "entropy", "special")), position("place", 9_999),
    position("after", 999), Number("discard", 0.9, 0, 0.99)))
ICONS = {"silenced": ":material/volume_off:", "patched": ":material/move_down:", "hidden": ":material/visibility_off:"}
# pretrained models that do the same as one of ours with any text or picture
LARGER = {"marked-digit": "dinov2-small", "translator": "en-fr", "stories": "smollm2", "induction": "smollm2",
          "picture-questions": "smolvlm"}
LONGEST_WORD = 60    # characters of a word that replaces another
WORD_SECONDS = 0.7   # seconds per word of a playing translation


def render(page: PageContext) -> None:
    """Draw the page."""
    introduced = introduce(page)
    answers.write(page)
    record = page.record()
    _warnings(page, record)
    fragment(page, _picture, not introduced)
    vocabulary(page.model, record.card.title, lambda text: page.set(text=text))
    about = "pictures" if record.picture is not None else "translate" if Kind.CROSS in record.kinds else "heads"
    folded_formula(strings(about)["formula"], partial(_proof, about), key="heads-formula")
    if PLAYING.value:
        repeat(WORD_SECONDS, partial(_play, page))


def _proof(about: str) -> tuple[Callable, ...]:
    from clearhead.model.core import attention, view
    from clearhead.model.studies.predictions import rows_by_produced_token
    from clearhead.viz.style import glow

    own = {"pictures": (heads.row_weights, view.displayed_rows, glow.shares_of), "translate": (rows_by_produced_token,)}
    return attention.scores, attention.softmax, *own.get(about, (heads.weights,))


def _play(page: PageContext) -> None:
    """Advance a playing translation by one word."""
    from clearhead.viz.pages.heads.translate import next_word

    next_word(page, *displayed(page))


def _example(page: PageContext) -> Example | None:
    """Return the example that contains the text; None if there is none, or for a picture."""
    return None if page.state.image is not None else example_for(page.text, page.state.text_b)


def _title(page: PageContext, tour: bool, contrast: str) -> None:
    """Draw the question, the button that starts the tour if `tour`, the button that opens a larger model for one of
    ours, and the switch tired ⇄ wide, which exchanges the word in the example sentence, with `contrast` beside it."""
    example = _example(page)

    def swapped() -> None:
        page.set(text=st.session_state["twin"] or next(text for text in texts if text != page.text))

    with flex_row("center", gap="small", key="heads-title"):
        heading(WORDS["question"], 4, width="content")
        if not page.present:
            if tour:
                tour_button()
            if larger := sources.catalogue().get(LARGER.get(page.model, "")):
                model_button(page, larger)
        if example is not None and example.twin and example.swap:
            texts = {example.text: example.swap[0], example.twin: example.swap[1]}
            st.session_state["twin"] = page.text
            st.segmented_control(WORDS["swap"], list(texts), format_func=texts.__getitem__, key="twin",
                                 on_change=swapped, label_visibility="collapsed")
            st.markdown(contrast, width="content")


def _warnings(page: PageContext, record: AttentionRecord) -> None:
    """Draw what is to be known before the picture: omitted tokens, and a model that reads what this one cannot."""
    words = strings("frame")
    if record.omitted is not None:
        st.warning(words("omitted", omitted=record.omitted, total=record.omitted.count + record.omitted.limit,
                         model=escape_markdown(record.card.title), text=escape_markdown(record.omitted.text[:40])))
    if record.unread:
        # empty if downloads are disabled
        readers = [offer for offer in sources.catalogue().values() if offer.every_byte]
        if readers:
            model_button(page, max(readers, key=lambda offer: offer.on_disk))
    for note in record.notes:
        st.caption(escape_markdown(note))


def _picture(page: PageContext, tour: bool) -> None:
    """Draw the question, the sentence, all heads and the open head, or the covered head to predict; then the sections.
    tour: whether to offer the tour beside the question."""
    OFFERED.value = {}
    record, view = displayed(page)
    covered = is_covered(page, record, view)
    contrast, *of_twin = (not covered and _twin_claims(page, record, view)) or [""]
    _title(page, tour, contrast)
    explorer.sentence(page, record, view, covered)
    if covered:
        covered_head(page, record)
        return
    question = MeasuresQuery(page.query(), view.kind)
    measures, claims = desk.cached(question), [explorer.pair_claim(record[view.kind], view, view.pair), *of_twin] if (
        view.pair) else explorer.picture_claims(record, view) if of_picture(record, view) else [
            explorer.row_claim(record, view)]
    if of_picture(record, view) and record[view.kind].keys.of_picture:
        claims = [*answers.claims(record, view), *claims[:1] * bool(view.pair)]
    if not page.present:   # presenting leaves more room for the picture
        with flex_row("center", gap="small", key="heads-lead"):
            st.markdown(claims.pop(0), width="content")
            explorer.offer_head(page, record[view.kind], view)
    left, right = split(11, 13)
    # the open head is drawn first, because it is what a click requests
    with right, st.container(key="heads-open"):
        offer_picture("head", explorer.open_head(page, record, view, measures), (record,), view)
        explorer.around(record, view)
        if page["predict"] == "shown":
            score_panel(page, record, view)
    with left:
        explorer.grid(page, record, view, measures)
        st.markdown(" ".join(claims[:2] if page.present else claims))
        # no buttons while presenting
        of_token = None if page.present else explorer.look_here_first(record[view.kind], view, measures, page.set)
    if not page.present:
        _what_if(page, record, view)
    for name in _sections(page, record):
        if page.present:   # without the expander, which is hidden then
            _section(name, page, record, view)
            continue
        folded(WORDS["sections"][name], partial(_section, name, page, record, view), key=f"heads-{name}",
               expanded=page["section"] == name)
    if not page.present:
        tour_card()
    if of_token is not None:   # drawn after the picture, because it takes longer for a long text
        with of_token:
            explorer.look_from_and_at(page, record[view.kind], view)
    if measures is None:   # computed after the picture is drawn, because they take longer for a long text
        page.ask(question, height=0)
        st.rerun()


def _runs(record: AttentionRecord) -> bool:
    """Return whether there is a model to run again, not only an imported file."""
    return record.verification.status not in ("imported", "recorded")


def _sections(page: PageContext, record: AttentionRecord) -> list[str]:
    """Return the names of the sections for this kind of model; while presenting, only the one in the address."""
    of_model = {"pictures": record.picture is not None and record.maps[0].keys.grid is not None,
                "translate": Kind.CROSS in record.kinds and record.picture is None,
                "next_word": record.kinds == (Kind.CAUSAL,), "circuits": True}
    return [name for name, module in SECTIONS.items() if _runs(record) and of_model[module]
            and (not page.present or name == page["section"])]


def _section(name: str, page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw an opened section, with errors as sentences. Rerun the page if a click in it changes what is displayed."""
    now, view_now = displayed(page)
    if (now.query, view_now) != (record.query, view):
        st.rerun()
    # imports studies that would delay the first page
    section = getattr(import_module(f"{__name__}.{SECTIONS[name]}"), name)
    with errors_as_sentences(page, name):
        section(page, record, view)


def _twin_claims(page: PageContext, record: AttentionRecord, view: View) -> list[str]:
    """Return what changes in the twin sentence, if the text has one that this model can read."""
    example = _example(page)
    twin = None if example is None or not example.rival else other_twin(example, page.text)
    with suppress(UserError):
        if example is not None and twin is not None:
            return explorer.twin_claims(record, page.ask(page.query(text=twin)), view, example)
    return []


def _what_if(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw one-click actions: predict the head, or repeat the question with this head silenced or taken from the twin,
    or with another word."""
    example = _example(page)
    # Compare measures no difference of signed heads
    asks = _runs(record) and not record[view.kind].signed
    if asks and of_picture(record, view) and record[view.kind].keys.of_picture:
        answers.what_if(page, record, view)
        return
    ways: dict[str, dict] = {"silenced": edited("zero")} if asks else {}
    if asks and of_picture(record, view) and record[view.kind].keys.place(view.token or 0) is not None:
        ways["hidden"] = edited("hide") | {"hidden": view.token}
    if example is not None and example.twin:
        ways["patched"] = edited("patch") | {"other": other_twin(example, page.text)}
    with flex_row("center", gap="small", key="heads-what-if"):
        heading(WORDS["what_if"], width="content")
        for way, controls in ways.items():
            if st.button(WORDS[f"compare_{way}"], key=f"compare-{way}", icon=ICONS[way],
                         help=WORDS.get(f"compare_{way}_help")):
                page.open_page("compare", **controls)
        if asks:
            _swap(page, record, view)
        start_button(page, record, view)


def _swap(page: PageContext, record: AttentionRecord, view: View) -> None:
    """Draw a menu with a field that replaces the word in focus, and compare as soon as a word is entered."""
    def compare(typed: str) -> None:
        if typed.strip() not in ("", text[start:end]):
            page.open_next("compare", versus="text", other=text[:start] + typed.strip() + text[end:])

    text = page.text
    # otherwise the queries are the target's tokens
    of_text = view.kind.base is Kind.SELF or Kind.CROSS not in record.kinds
    place = word_at(record[view.kind].queries, view.token, text) if of_text else None
    if place is None:
        return
    start, end = place
    with st.popover(WORDS["swap"], icon=":material/swap_horiz:", key="swap-word"):
        text_field(WORDS("swap_word", word=text[start:end]), "", compare, f"swap-{start}-{end}", LONGEST_WORD,
                   help=WORDS["swap_help"])
