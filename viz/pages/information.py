"""What do heads tell, and what do they share? Entropy, mutual information, distance, and a map of all heads by their
divergence."""
import numpy as np
import streamlit as st

from model.ask import sources
from model.core.query import Query
from model.core.statistics import entropy, x_log_x
from model.lessons import information, mds
from viz.figures.bars import bars
from viz.figures.by_layer import by_layer
from viz.figures.head_mds import head_map, shepard_diagram
from viz.figures.lines import Line, lines
from viz.figures.matrix import CellStyle, matrix
from viz.format import head_label
from viz.page import Page, PageContext
from viz.page_controls import Choice, Number, Words
from viz.text import escape_markdown
from viz.widgets.control_widgets import choice_for, slider_for
from viz.widgets.fields import bind
from viz.widgets.figure import figure
from viz.widgets.head_picker import real_head
from viz.widgets.lesson import GUESS, Lesson, computing

SIZES = (2, 4, 8, 16, 32, 64)
SHARES = np.linspace(0, 3, 61)
NEAREST = 5
MOST_TEXTS = 50
KRUSKAL = (0.05, 0.1, 0.2)   # stress that he called good, fair, poor (1964)
PAGE = Page("What heads share", "Learn", 13, "head",
            controls=(
    GUESS, Choice("toy", "causal", information.TOYS), Number("size", 8, min(SIZES), max(SIZES), whole=True),
    Number("sharp", 1.0, 0, 1), Choice("texts", "one", ("one", "set", "own")), Words("own", "", 1200),
    Choice("method", "smacof", ("smacof", "classical")), Number("bond", 1.5, 0, 4), Number("learnt", 0.5, 0, 3)))


def render(page: PageContext) -> None:
    """Draws the page."""
    lesson = Lesson(page, "information")
    lesson.header()
    revealed = lesson.predict()
    lesson.fragment(_toy, revealed)
    lesson.fragment(_not)
    lesson.fragment(_heads, revealed)


def _toy(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    words, name, n = lesson.prose["toy"], page.controls["toy"], page.controls["size"]
    weights = information.toy(name, n, page.controls["sharp"])
    rows, mean = float(entropy(weights, base=2).mean()), float(entropy(weights.mean(0), base=2))
    with lesson.section("toy"):
        choice_for(page, "toy", words["toy"], words["names"])
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "size", words["size"], SIZES)
            if name not in ("uniform", "causal"):
                slider_for(page, "sharp", words["sharp"], np.linspace(0, 1, 11).round(1))
            places = [str(place) for place in range(n)]
            figure(lambda theme: matrix(theme, np.where(weights > 0, weights, np.nan), places, places, height=380,
                                        style=CellStyle(ruler=False)),
                   key="information-toy", alt=lesson.alt("toy", name=words["names"][name], n=n))
        with right:
            if revealed:
                labels = [words["of_mean"], words["mean_of"], words["mutual"]]
                figure(lambda theme: bars(theme, labels, {"bits": np.array([mean, rows, mean - rows])},
                                          axes=("", "bits"), height=400, y_range=(0, 1.1 * np.log2(n))),
                       key="information-bits", alt=words["alt_bits"].format(mean=mean, rows=rows, mutual=mean - rows))
            else:
                lesson.placeholder("bits", height=400)
        by_toy = {f"of_{toy}": float(information.mutual(information.toy(toy, n))) for toy in information.TOYS}
        answer = words["shown" if revealed else "hidden"].format(name=words["names"][name], mean=mean, rows=rows,
                                                                 mutual=mean - rows, **by_toy)
        lesson.explanation("toy", shown=(x_log_x, entropy, information.mutual, information.toy),
                           shapes={"weights": weights}, n=n, most=np.log2(n), answer=answer)


def _not(page: PageContext, lesson: Lesson) -> None:
    """What training really raises a bound on."""
    words, learnt = lesson.prose["bound"], page.controls["learnt"]
    bound = information.bound(page.controls["bond"], SHARES)
    here = information.bound(page.controls["bond"], np.array([learnt]))
    with lesson.section("bound"):
        left, right = st.columns(2, gap="medium")
        with left:
            slider_for(page, "bond", words["bond"], np.linspace(0, 4, 9))
        with right:
            slider_for(page, "learnt", words["learnt"], SHARES[::5].round(2))
        shown = bound.entropy - bound.cross_entropy
        drawn = [Line(words["cross_entropy"], bound.cross_entropy, 1, "dash"),
                 Line(f"H(Y) = {bound.entropy:z.3f}", np.full_like(SHARES, bound.entropy), 1, "dot"),
                 Line(words["bound"], shown, 0),
                 Line(f"I(X;Y) = {bound.information:z.3f}", np.full_like(SHARES, bound.information), 0, "dot")]
        figure(lambda theme: lines(theme, SHARES, drawn, axes=(words["share"], "bits"),
                                   marks=[(learnt, f"s = {learnt:g}")], height=380),
               key="information-bound", alt=lesson.alt("bound", information=bound.information, best=float(shown.max())))
        lesson.explanation("bound", shown=(information.bound,), shapes={"cross_entropy": bound.cross_entropy},
                           information=bound.information, learnt=learnt,
                           bound=here.entropy - float(here.cross_entropy[0]),
                           cross_entropy=float(here.cross_entropy[0]))


def _heads(page: PageContext, lesson: Lesson, revealed: bool) -> None:
    """The three sections about the same heads and texts."""
    pool = _asked(page, lesson)
    if pool is not None:
        _layers(page, lesson, pool, revealed)
        lesson.fragment(_map, pool)


def _asked(page: PageContext, lesson: Lesson) -> information.Information | None:
    """The heads on one text or on several: one question a text, so that a click stops it and others come in between."""
    words, state = lesson.prose["texts"], page.state
    with lesson.section("texts"):
        choice_for(page, "texts", words["which"], words["names"])
        if page.controls["texts"] == "own":
            st.text_area(words["own"], placeholder=words["own_help"], height=120, max_chars=1200,
                         **bind(page.set_controls, "own", page.controls["own"]))
            if not page.controls["own"].strip():
                st.caption(words["nothing"])
        _, view = real_head(page, token=False)
        queries, wrong = _queries(page, words), []
        answers = page.ask_each([information.InformationQuery(query, view.kind) for query in queries],
                                say=lambda number, text: words["progress"].format(number=number + 1, all=len(queries)),
                                on_error=lambda number, error: wrong.append(f"{queries[number].text[:60]}: {error}"))
        answered = [answer for answer in answers if answer is not None]
        if wrong:
            st.warning(words["left_out"].format(count=len(wrong), all=len(queries), first=escape_markdown(wrong[0])))
        if not answered:
            st.info(words["none"])
            return None
        pool = information.mean_over_texts(answered)
        sentence = words["said_one" if pool.texts == 1 else "said"]
        st.caption(sentence.format(texts=pool.texts, tokens=pool.tokens, heads=len(pool.places),
                                   model=escape_markdown(state.model)))
        return pool


def _queries(page: PageContext, words: dict) -> list[Query]:
    """The questions whose answers are put together: that of the sidebar, also where no line is written yet, or one for
    each line."""
    own = [line for line in page.controls["own"].splitlines() if line.strip()][:MOST_TEXTS]
    texts = {"one": [], "set": words["set"], "own": own}[page.controls["texts"]]
    return [sources.open_query(page.state.model, text) for text in texts] or [page.query()]


def _layers(page: PageContext, lesson: Lesson, pool: information.Information, revealed: bool) -> None:
    words, view = lesson.prose["layers"], page.view()
    marked = (view.layer, view.head)
    with lesson.section("layers"):
        names = [name for name in ("entropy", "mutual", "distance") if np.isfinite(pool.values[name]).all()]
        for column, name in zip(st.columns(len(names), gap="small"), names, strict=True):
            with column:
                values, blank = pool.values[name], pool.blank[name]
                line = None if name == "mutual" and not revealed else (words["lines"][name], blank)
                figure(lambda theme, name=name, values=values, line=line: by_layer(
                    theme, pool.places, values, axes=(words["layer"], words["axes"][name]),
                    names=(words["heads"], words["means"]), line=line, marked=marked, height=400),
                       key=f"information-{name}",
                       alt=words[f"alt_{name}"].format(low=values.min(), high=values.max(), blank=blank.mean()))
        mutual, blank = pool.values["mutual"], pool.blank["mutual"]
        most, least = int(mutual.argmax()), int(mutual.argmin())
        lesson.explanation("layers", shown=(information.measure_text, information.mutual, information.mean_over_texts),
                           shapes={"I": mutual, "tokens": pool.tokens}, heads=len(mutual),
                           below=int((pool.values["entropy"] < pool.blank["entropy"] / 2).sum()),
                           mutual=mutual.mean(), most=head_label(*pool.places[most]), most_bits=mutual[most],
                           least=head_label(*pool.places[least]), least_bits=mutual[least],
                           mask=words["mask" if blank.max() > 1e-9 else "no_mask"].format(
            blank=blank.mean(), under=int((mutual < blank).sum()), heads=len(mutual))
                                if revealed else words["hidden"])


def _verdict(verdicts: list[str], stress: float) -> str:
    """What Kruskal's names say of this stress; verdicts: from the best to the worst."""
    return verdicts[sum(stress > bound for bound in KRUSKAL)]


def _map(page: PageContext, lesson: Lesson, pool: information.Information) -> None:
    words, view = lesson.prose["map"], page.view()
    with lesson.section("map"):
        choice_for(page, "method", words["method"], words["methods"])
        with computing():
            wanted = np.sqrt(pool.divergence)
            at = mds.plane(wanted, page.controls["method"])
        here = pool.places.index((view.layer, view.head))
        near = [int(place) for place in np.argsort(wanted[here]) if place != here][:NEAREST]
        both = {method: mds.stress(mds.plane(wanted, method), wanted) for method in words["methods"]}
        left, right = st.columns([3, 2], gap="medium")
        with left:
            figure(lambda theme: head_map(theme, pool.places, at, marked=pool.places[here], near=near,
                                          layer_word=words["layer"]),
                   key="information-map", alt=lesson.alt("map", heads=len(at), stress=both[page.controls["method"]]))
        with right:
            figure(lambda theme: shepard_diagram(theme, wanted, mds.between(at), axes=("√JS", words["in_plane"])),
                   key="information-kept", alt=words["alt_kept"].format(stress=both[page.controls["method"]]))
        name = head_label(*pool.places[here])
        rows = [words["table_head"].format(head=name), "|---|---:|---:|"]
        apart = mds.between(at)
        rows += [f"| {head_label(*pool.places[other])} | {wanted[here, other]:z.3f} | {apart[here, other]:z.3f} |"
                 for other in near]
        st.markdown("\n".join(rows))
        same, other = information.within_and_between(pool, wanted)
        lesson.explanation("map", shown=(information.divergences, mds.classical, mds.smacof, mds.stress),
                           shapes={"√JS": wanted, "plane": at}, same=same, other=other, head=name,
                           closest=head_label(*pool.places[near[0]]), distance=wanted[here, near[0]],
                           stress_verdict=_verdict(lesson.prose["map"]["verdicts"], both["smacof"]),
                           **{f"stress_{method}": value for method, value in both.items()})
