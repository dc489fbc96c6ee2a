"""A lesson on changes to the Transformer since 2017: a block with switches, then its cache, its experts, decoding and
scaling, one at a time."""
from dataclasses import asdict, replace

import numpy as np
import streamlit as st

from clearhead.model.lessons import since
from clearhead.model.lessons.since import MODELS, STRATEGIES, WORDS, encode
from clearhead.viz.app.page import Page, PageContext
from clearhead.viz.app.page_controls import Choice, Number, Switch, stepped
from clearhead.viz.components.diagram.block import DiagramBox, block_diagram
from clearhead.viz.components.slider import slider
from clearhead.viz.figures.bars import bars, stacked_bars
from clearhead.viz.figures.diagrams import Branch, word_tree
from clearhead.viz.figures.drawing import markup
from clearhead.viz.figures.lines import Line, lines
from clearhead.viz.figures.matrix import CellStyle, matrix
from clearhead.viz.style.numbers import format_number, format_share
from clearhead.viz.style.text import Texts
from clearhead.viz.widgets.fields import bind, button_setting, choice_for
from clearhead.viz.widgets.layout import flex_row, split
from clearhead.viz.widgets.lesson import QUESTIONS, Lesson, Section, controls_row, lesson_page, section

CHANGES = (*since.SWITCHES, "groups")
# the change explained by clicking a kind of box
OF_BOX = {"in": "rotary", "norm": "rms", "attention": "groups", "add": "pre", "add_norm": "rms",
          "feed_forward": "swiglu"}
PART_COLOURS = {"attention": 1, "feed_forward": 4, "norms": 2}
LENGTHS = (*range(1, since.TOKENS + 1), *(2**power for power in range(5, 18)))   # numbers of tokens in the cache
TEXTS = {"english": "<start> the old king sings in the garden .",
         "french": "<start> le vieux homme dort dans la maison .",
         "sum": "<start> two plus five is seven ."}
PROMPTS = {"the": "the", "le": "le", "two": "two plus"}
STEPS, BRANCHES, LEAST = 3, 5, 0.01     # words written, branches per word, smallest probability drawn
AMOUNTS = {"beam": "beam", "top_k": "k", "top_p": "p"}   # each strategy's control; greedy decoding has none
LAWS = {"kaplan": since.kaplan, "hoffmann": since.HOFFMANN.best, "besiroglu": since.BESIROGLU.best}
LAW_LOOKS = ((1, "dash"), (0, "dot"), (4, "solid"))
PAGE = Page("nothing", controls=(
    *QUESTIONS, *(Switch(name) for name in since.SWITCHES),
    Number("groups", since.HEADS, 1, since.HEADS, whole=True), Choice("about", "pre", CHANGES),
    Choice("topic", "cache", ("cache", "experts", "writing", "scaling")), stepped("tokens", 12, LENGTHS),
    Choice("routed", "english", tuple(TEXTS)), Switch("balance", True),
    Choice("prompt", "the", tuple(PROMPTS)), Choice("how", "greedy", STRATEGIES), stepped("beam", 2, range(1, 6)),
    stepped("k", 2, range(1, 6)), stepped("p", 0.7, np.linspace(0.05, 1, 20).round(2)),
    stepped("compute", 24, np.arange(18, 27.1, 0.5))))


@lesson_page
def render(page: PageContext, lesson: Lesson) -> None:
    """Draw the page."""
    sections = {"cache": _cache, "experts": _experts, "writing": _writing, "scaling": _scaling}
    this = since.Design(**{name: page[name] for name in CHANGES})
    _block(page, lesson, this)
    if page.present:
        for draw in sections.values():
            lesson.fragment(draw, this)
        return
    topic = choice_for(page, "topic", lesson.prose["topic"], {name: lesson.prose[name]["short"] for name in sections})
    if topic == "cache" and not lesson.open():   # the heading would reveal what is cached
        lesson.covered("cache")
    else:
        lesson.fragment(sections[topic], this)


@section
def _block(page: PageContext, words: Section, this: since.Design) -> None:
    """Draw the block with its switches, and the question beside it."""
    left, middle, right = split(4, 3, 8) if page.present else split(5, 4, 6)
    with middle:
        _switches(page, words)
    with left:
        _drawing(page, words, this)
    with right:
        words.predict()
        both = [since.parameters(since.PAPER), since.parameters(this)]
        pieces = [(words["parts"][part], colour, np.array([each[part] for each in both]) / 1000)
                  for part, colour in PART_COLOURS.items()]
        words.tell(paper=since.numbers(since.PAPER), now=since.numbers(this))
        words.tell(**block_claim(words, this, page["about"]))
        words.figure(stacked_bars, words["blocks"], pieces, axis=words["parameters"], height=160)
    words.explain(since.parameters, since.cache_bytes, since.merge, since.run)


def _switches(page: PageContext, words: Texts) -> None:
    """Draw the switches. The last one changed is stored in `about` and explained."""
    def turn(**changes: bool) -> None:
        page.set(**changes, about=next(iter(changes)))

    for name in since.SWITCHES:
        st.toggle(words["switches"][name], **bind(turn, name, page[name]))
    slider(words["switches"]["groups"], range(1, since.HEADS + 1), page["groups"], say=str,
           key="slider-groups", turn=lambda groups: page.set(groups=groups, about="groups"))
    with flex_row(gap="small"):
        for name, whole in (("paper", since.PAPER), ("today", since.TODAY)):
            button_setting(page, words["presets"][name], f"preset-{name}", **asdict(whole))


def block_boxes(words: Texts, this: since.Design) -> list[DiagramBox]:
    """Return the block's boxes from bottom to top for these switches."""
    names, norm = words["boxes"], words["boxes"]["rms" if this.rms else "layer"]
    rows = names("rows", tokens=since.TOKENS, width=since.WIDTH)
    boxes = [DiagramBox("in", "in", names["in"], names["bare" if this.rotary else "waves"])]
    parts = (DiagramBox("attention", "attention", names("attention", groups=this.groups),
                        names["rotary" if this.rotary else "scores"]),
             DiagramBox("feed_forward", "feed_forward", names["swiglu" if this.swiglu else "relu"],
                        names["gated" if this.swiglu else "wide"]))
    for number, part in enumerate(parts, 1):
        if this.pre:
            boxes += [DiagramBox(f"norm{number}", "norm", norm, rows), part,
                      DiagramBox(f"add{number}", "add", names["add"], rows)]
        else:
            boxes += [part, DiagramBox(f"add{number}", "add_norm", names("add_norm", norm=norm), rows)]
    return boxes


def _drawing(page: PageContext, words: Texts, this: since.Design) -> None:
    boxes = block_boxes(words, this)
    kinds = {"pre": ("add", "add_norm"), "rms": ("norm", "add_norm"), "swiglu": ("feed_forward",),
             "rotary": ("attention" if this.rotary else "in",)}.get(page["about"], ("attention",))
    of = {box.name: OF_BOX[box.kind] for box in boxes}
    alt = words("alt_diagram", order=", ".join(box.words for box in boxes))
    block_diagram(boxes, next(box.name for box in boxes if box.kind in kinds), alt=alt, key="since-block",
                  on_open=lambda name: page.set(about=of[name]))


def block_claim(words: Section, this: since.Design, about: str) -> dict[str, object]:
    """Return the explanation of the change `about` (a switch, or "groups") in this block, and the number of parameters
    that it adds."""
    before = replace(this, **{about: getattr(since.PAPER, about)})
    after = this if about == "groups" else replace(this, **{about: True})
    by = sum(since.parameters(after).values()) - sum(since.parameters(before).values())
    says = words["says"][about]["off" if this == before and about != "groups" else "on"]
    return {"says": says.format(heads=since.HEADS, **words.facts), "by": by}


@section
def _cache(page: PageContext, words: Section, this: since.Design) -> None:
    """Draw the growth of the key–value cache: this page's block on the left, published models on the right."""
    if words.hidden():
        return
    tokens, made = words.slider("tokens", say="{:,}".format), since.run(this)
    rows = min(tokens, since.TOKENS)
    kept = np.concatenate([made.keys, made.values]).transpose(1, 0, 2).reshape(since.TOKENS, -1)[:rows]
    llama = next(model for model in MODELS if model.name == "Llama 3 8B")
    words.tell(rows=rows, columns=kept.shape[1], held=said_bytes(tokens * llama.bytes_per_token),
               ungrouped=said_bytes(tokens * llama.bytes_per_token * llama.heads // llama.groups),
               own=said_bytes(tokens * since.cache_bytes(this)),
               paper=said_bytes(tokens * since.cache_bytes(since.PAPER)),
               table="".join("\n  - " + words("line", model=model) for model in MODELS))
    left, right = split(2, 3)
    with left, st.container(key="aside-cache"):
        words.figure(matrix, kept, range(1, rows + 1),
                     style=CellStyle("signed", bound=3.0, square=False, ruler=False))
    with right:
        span = np.array([2**power for power in range(18)])
        drawn = [Line(" = ".join(model.name for model in MODELS if model.bytes_per_token == each),
                      span * each / 1e9, place)
                 for place, each in enumerate(dict.fromkeys(model.bytes_per_token for model in MODELS))]
        words.figure(lines, span, drawn, log="xy", marks=[(tokens, f"{tokens:,}")], kind="real")
    words.explain(since.cache_bytes, since.attention)


def _in_units(count: float, digits: int, units: list[str]) -> str:
    """Format a number with its unit and this many significant digits. Each unit is 1000 times the previous one."""
    power = min(len(units) - 1, max(0, int(np.log10(max(count, 1)) // 3)))
    return f"{format_number(count / 1000**power, digits)} {units[power]}"


def said_bytes(count: float) -> str:
    """Format bytes in a readable unit."""
    return _in_units(count, 3, ["bytes", "kB", "MB", "GB"])


@section
def _experts(page: PageContext, words: Section, this: since.Design) -> None:
    """Draw how a router assigns a sentence's tokens to four experts, and how many tokens of many sentences each
    gets."""
    with controls_row():
        text, balanced = TEXTS[words.choice("routed", "texts")].split(), words.toggle("balance")
    gates = since.route(text, balanced)
    found, weights = since.trainings(), since.shipped()[balanced]
    shares = {name: np.array(each) for name, each in found["shares"].items()}
    names = range(1, since.EXPERTS + 1)
    surest, one = gates.max(-1).argmax(), weights["up"][0].numel() + weights["down"][0].numel()
    words.tell(words=len(text), experts=since.EXPERTS, word=text[surest].strip("<>"),
               expert=gates[surest].argmax() + 1, share=gates[surest].max(), one=one, all=since.EXPERTS * one,
               used=len(set(gates.argmax(-1).tolist())), on=shares["balanced"].max(), off=shares["free"].max(),
               held_out=since.HELD_OUT, seeds=len(found["busiest"]["free"]), nats=found["nats"],
               busiest={name: (min(runs), np.mean(runs), max(runs)) for name, runs in found["busiest"].items()})
    left, right = split()
    with left:
        words.figure(matrix, gates, [word.strip("<>") for word in text], names, height=330)
    with right:
        words.figure(bars, names, {words["loads"][name]: each for name, each in shares.items()}, y_range=(0, 0.7),
                     height=330, kind="load")
    words.explain(since.forward, since.balancing)


@section
def _writing(page: PageContext, words: Section, this: since.Design) -> None:
    """Draw the tree of possible continuations of a prompt, and what a strategy keeps of it."""
    with controls_row():
        offered = {name: f"{text} …" for name, text in PROMPTS.items()}
        text = PROMPTS[choice_for(page, "prompt", words["prompt"], offered)]
        how = words.choice("how", "hows")
    amount = words.slider(AMOUNTS[how]) if how in AMOUNTS else 1
    prompt = tuple(encode(["<start>", *text.split()]))
    nodes = since.tree(since.next_words, prompt, STEPS, how, amount, BRANCHES)
    numbers = writing_numbers(how, amount, prompt)
    branches = [Branch(node.path, WORDS[node.path[-1]], format_share(node.given, 0), node.kept,
                       markup(words["written"], path=_said(node.path), given=node.given, whole=node.whole,
                              kept=node.kept))
                for node in nodes if node.whole >= LEAST or (node.kept and how in ("greedy", "beam"))]
    words.tell(strategy=words["hows"][how], count=len(branches), steps=STEPS, least=LEAST,
               says=words["says"](how, **numbers), **numbers)
    words.figure(word_tree, f"{text} …", branches)
    words.explain(since.greedy, since.beam, since.top_k, since.top_p)


def _said(path: since.Path) -> str:
    return " ".join(WORDS[word] for word in path)


def writing_numbers(how: str, amount: float, prompt: since.Path) -> dict[str, object]:
    """Return the text that each strategy writes after a prompt, with its probability; the most probable text overall;
    and what top-k and top-p of `amount` keep of the first word."""
    greedy, given = since.greedy(since.next_words, prompt, STEPS), np.exp(since.next_words(prompt))
    log = sum(since.next_words(prompt + greedy[:place])[word] for place, word in enumerate(greedy))
    beam, beam_log = since.beam(since.next_words, prompt, STEPS, int(amount) if how == "beam" else 1)[-1][0]
    best, best_share = since.best(since.next_words, prompt, STEPS)
    kept = since.top_p(given, amount) if how == "top_p" else since.top_k(given, int(amount))
    return {"greedy_said": _said(greedy), "greedy_share": np.exp(log), "beam_said": _said(beam),
            "beam_share": np.exp(beam_log), "best_said": _said(best), "best_share": best_share,
            "amount": amount, "words": np.count_nonzero(kept), "cut": 1 - given[kept > 0].sum(),
            "first": kept.max(), "before": given.max()}


@section
def _scaling(page: PageContext, words: Section, this: since.Design) -> None:
    """Draw three published scaling laws: the best number of parameters for a given amount of computation."""
    exponent = words.slider("compute", say=said_power)
    power, compute = said_power(exponent), 10.0**exponent
    span = np.geomspace(1e18, 1e27, 91)
    drawn = [Line(words["names"][name], law(span)[0], colour, dash)
             for (name, law), (colour, dash) in zip(LAWS.items(), LAW_LOOKS, strict=True)]
    best = {name: tuple(map(float, law(compute))) for name, law in LAWS.items()}   # parameters, tokens
    words.tell(power=power, ratios={name: tokens / parameters for name, (parameters, tokens) in best.items()},
               said={name: _in_units(parameters / 1e6, 2, words["scales"]) for name, (parameters, _) in best.items()},
               losses=[fit.loss(*fit.best(compute)) for fit in (since.HOFFMANN, since.BESIROGLU)])
    words.figure(lines, span, drawn, log="xy", marks=[(compute, power)], height=380)
    words.explain(since.kaplan, since.Law.loss, since.Law.best)


def said_power(power: float) -> str:
    """Format a power of ten, as in 10²⁴ or 10²³·⁵."""
    return "10" + f"{power:g}".translate(str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹·"))
