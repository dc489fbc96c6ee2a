"""A real head, scene by scene: the lengths and angles that are drawn, and what is said of them."""
from dataclasses import replace

import numpy as np
import streamlit as st

from model.lessons import head_steps
from viz.components.head_story import SCENES, Story, head_story
from viz.page import PageContext
from viz.pages.inside.steps import StepContext, chosen_key, mixed_of_all
from viz.pages.inside.stream import normalised, stream_before
from viz.text import escape_markdown
from viz.theme import READABLE
from viz.widgets.lesson import Lesson, computing

DRAWN = 16   # keys that have an arrow of their own; of a longer text those with the largest weights
COVERED = SCENES[SCENES.index("mix"):]   # what the page asks for is seen in these


def draw_story(page: PageContext, lesson: Lesson, here: StepContext, revealed: bool) -> None:
    """Draws the scenes and the sentences of the one that is shown."""
    words, scene = lesson.prose["journey"], page.controls["scene"]
    if scene in COVERED and not revealed:
        scene = SCENES[SCENES.index(COVERED[0]) - 1]
    with computing():
        drawn, numbers = story_of(here, words), story_numbers(here, words)
    handed = drawn.stream is not None
    without = "" if handed else here.without or words["normalised"]
    plain = numbers | {"token": here.spoken(query=True), "key": here.spoken(here.key)}
    head_story(drawn, [words["alts"][name].format(**plain) if name != "out" or handed else without
                       for name in SCENES], scene, here.key,
               covered=not revealed, without=without, key="story", turn=lambda told: page.set(
                   **{{"key": "to"}.get(name, name): value for name, value in told.items()}))
    if chosen_key(page, here.path) != here.key:
        st.rerun()   # another key was clicked, which is in the pictures below as well
    if scene != "out" or handed:
        says = words["says"][f"{scene}_masked" if scene == "softmax" and not here.path.allowed[here.key] else scene]
        st.markdown(f"{says.format(**numbers)}  \n:small[{words['kept'][scene].format(**numbers)}]", width=READABLE)
    lesson.explanation("journey", shown=(head_steps.head_steps, head_steps.row_softmax, head_steps.mix_plane,
                                         story_of),
                       shapes={name: getattr(here.path, name) for name in
                               ("query", "keys", "values", "products", "logits", "weights", "weighted", "mixed")},
                       d_model=here.record.card.d_model, d_v=len(here.path.mixed))


def _drawn(here: StepContext) -> np.ndarray:
    """The places of the keys that have an arrow of their own."""
    order = np.argsort(-here.path.weights, kind="stable")[:DRAWN]
    return np.unique([*order, here.key])


def _handed(here: StepContext) -> tuple[np.ndarray, np.ndarray] | None:
    """(the stream that attention's output is added to, what this head adds), each (d_model); None without a trace, and
    where all heads together are normalised before they are added."""
    if here.trace is None or normalised(here.block, here.around) is not None:
        return None
    added = head_steps.hand_over(mixed_of_all(here), here.around.w_output)[here.view.head]
    return stream_before(here.block, here.around)[here.token], added


def story_of(here: StepContext, words: dict) -> Story:
    """The lengths and angles that are drawn. Every key stands at its own length and angle to the query; the values in
    the plane of `mix_plane`."""
    path, places = here.path, _drawn(here)
    long, lengths = float(np.linalg.norm(path.query)), np.linalg.norm(path.keys, axis=-1)
    along = path.dots / long if long else np.zeros(len(path.dots))
    across = np.sqrt(np.maximum(lengths**2 - along**2, 0))
    axes, _ = head_steps.mix_plane(path)
    logits = np.where(path.allowed, path.logits, -np.inf)
    handed = _handed(here)
    stream = None if handed is None else (float(np.linalg.norm(handed[0])), float(np.linalg.norm(handed[1])),
                                          float(np.nan_to_num(head_steps.angle(*handed))))
    made = Story(here.spoken(query=True), [here.spoken(place) for place in places], places.tolist(), long,
                 along[places], across[places], path.dots[places], logits[places], path.weights[places],
                 path.values[places] @ axes.T, path.weighted[places] @ axes.T, float(np.linalg.norm(path.mixed)),
                 stream)
    rest = np.setdiff1d(np.arange(len(path.weights)), places)
    return _with_rest(made, path.weighted[rest].sum(0) @ axes.T, float(path.weights[rest].sum()),
                      words["rest"].format(count=len(rest))) if len(rest) else made


def _with_rest(made: Story, step: np.ndarray, weight: float, name: str) -> Story:
    """The story with one more row for the keys that have no arrow."""
    return replace(made, names=[*made.names, name], places=[*made.places, -1], weights=np.append(made.weights, weight),
                   along=np.append(made.along, np.nan), across=np.append(made.across, np.nan),
                   dots=np.append(made.dots, np.nan), logits=np.append(made.logits, np.nan),
                   values=np.vstack([made.values, step]), steps=np.vstack([made.steps, step]))


def story_numbers(here: StepContext, words: dict) -> dict:
    """The numbers of the sentences."""
    path, key, handed = here.path, here.key, _handed(here)
    allowed = path.logits[path.allowed]
    top = float(allowed.max()) if len(allowed) else 0.0
    raised = float(np.exp(path.logits[key] - top)) if path.allowed[key] else 0.0
    forbidden = int((~path.allowed).sum())
    extra = [words["extra"][name].format(cap=here.layer.softcap, bias=path.bias[key], forbidden=forbidden,
                                         allowed=len(allowed), keys=len(path.weights),
                                         token=escape_markdown(here.spoken(query=True)))
             for name, there in (("cap", here.layer.softcap is not None), ("bias", path.bias.any()),
                                 ("temperature", here.layer.temperature is not None), ("mask", forbidden)) if there]
    numbers = {"token": escape_markdown(here.spoken(query=True)), "key": escape_markdown(here.spoken(key)),
               "query": np.linalg.norm(path.query), "length": np.linalg.norm(path.keys[key]),
               "angle": head_steps.angle(path.query, path.keys[key]), "dot": path.dots[key],
               "along": path.dots[key] / max(np.linalg.norm(path.query), 1e-30), "scale": here.layer.scale,
               "score": path.scaled[key], "d_k": len(path.query), "d_v": len(path.mixed), "keys": len(path.weights),
               "logit": path.logits[key], "extra": "".join(f" {each}" for each in extra), "raised": raised,
               "weight": path.weights[key], "sum": path.weights.sum(), "value": np.linalg.norm(path.values[key]),
               "part": np.linalg.norm(path.weighted[key]), "mix": np.linalg.norm(path.mixed),
               "share": head_steps.mix_plane(path)[1], "drawn": _drawn_words(here, words),
               "total": raised / path.weights[key] if path.weights[key] else np.exp(allowed - top).sum(),
               "divided": _divided(here, words), "d_model": here.record.card.d_model}
    if handed is None:
        return numbers
    before, added = handed
    turned = head_steps.angle(before, before + added)
    return numbers | {"before": np.linalg.norm(before), "added": np.linalg.norm(added), "turned": turned,
                      "between": head_steps.angle(before, added), "after": np.linalg.norm(before + added)}


def _drawn_words(here: StepContext, words: dict) -> str:
    """How many keys are drawn, where not all are."""
    drawn, keys = len(_drawn(here)), len(here.path.weights)
    return "" if drawn == keys else " " + words["some_drawn"].format(drawn=drawn, keys=keys)


def _divided(here: StepContext, words: dict) -> str:
    """What every product is multiplied by, in words: 1/√d_k, another number, or 1."""
    scale, d_k = here.layer.scale, len(here.path.query)
    case = "paper" if np.isclose(scale, d_k**-0.5) else "one" if np.isclose(scale, 1) else "other"
    return words["divided"][case].format(d_k=d_k, scale=scale, root=d_k**0.5, score=here.path.scaled[here.key],
                                         dot=here.path.dots[here.key])
