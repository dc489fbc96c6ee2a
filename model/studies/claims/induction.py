"""Induction heads: they exist, and they arise when the loss falls (Olsson et al. 2022)."""
from dataclasses import dataclass, replace

import numpy as np

from model.core.assets import ASSETS
from model.core.models import Models, NamesModel
from model.core.statistics import LEVEL, mean_intervals
from model.core.types import Progress, quiet
from model.studies.claims.claim import Finding, Measurement, Picture, finding
from model.studies.claims.definitions import MOST, REPEATS
from model.studies.claims.selection import best_head_finding, shuffled
from model.studies.film import FORMED, SMOOTH, Film, emergence_interval, read_film
from model.studies.induction import RepeatsQuery, ask, repeated, scores

SEEN = "The red fox met the grey wolf by the river. Later the red fox met the grey wolf by the river."
FILM = ASSETS / "weights" / "induction-film.safetensors"


@dataclass(frozen=True)
class Named:
    """A model by its name."""

    model: str
    revision: str


def induction_heads(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Does some head look, from a token's second occurrence, mostly at what followed the first? Random tokens twice
    over."""
    opened, values, lucky = models.open(asked, report), [], []
    for seed in range(REPEATS):
        report(seed / REPEATS, f"random tokens {seed + 1} of {REPEATS}")
        question = RepeatsQuery(asked.model, asked.revision, seed=seed)
        attention_map = repeated(question, opened, quiet)
        found = scores(attention_map, question.length)
        values.append(found.prefix)
        count = len(attention_map.queries)
        lucky.append(shuffled(attention_map, np.arange(count - question.length, count - 1), seed))
    best = best_head_finding("induction", np.array(values), MOST, np.mean(lucky, axis=0), found.heads, "draws")
    return Measurement((best,), Picture("heads", asked.model, SEEN, head=best.heads[0]))


def induction_loss(asked: NamesModel, models: Models, report: Progress) -> Measurement:
    """Does an induction head form in the training that is shipped as a film, and how much of the fall of the loss lies
    between the two snapshots between which it forms? What is drawn are the random tokens that each snapshot's heads are
    tested with, half of which choose the head; the training is one."""
    film, prefix = read_film(FILM), []
    for number, step in enumerate(film.frames):
        report(number / len(film.frames), f"snapshot {number + 1} of {len(film.frames)}")
        opened = models.open(Named(f"{asked.model}@{step}", asked.revision), quiet)
        prefix.append([ask(RepeatsQuery(opened.card.id, asked.revision, seed=seed), opened, quiet).prefix
                       for seed in range(REPEATS)])
    scored = np.array(prefix)   # (snapshot, draw, head)
    chosen = int(scored[-1, ::2].mean(0).argmax())
    ids = ask(RepeatsQuery(opened.card.id, asked.revision), opened, quiet).heads
    formed = finding("induction_formed", mean_intervals(scored[-1, 1::2, chosen][:, None])[0], FORMED, "draws", "share")
    judged = replace(formed, heads=(ids[chosen],)), together(film, scored[:, 1::2, chosen])
    return Measurement(judged, Picture("training", settings=(("film", "induction"),)))


def together(film: Film, prefix: np.ndarray) -> Finding:
    """The share of the fall of the loss between the two snapshots between which a head forms, against the share of the
    steps there, and against what windows of that length reach anywhere in the training. prefix: (snapshot, draw)."""
    windows = [emergence_interval(film.frames, column) for column in prefix.T]
    shares = np.array([np.nan if window is None else fall(film, *window) for window in windows])
    lengths = [window[1] - window[0] for window in windows if window is not None]
    found = finding("induction_loss", mean_intervals(shares[:, None])[0], float(np.mean(lengths)) / film.frames[-1]
                    if lengths else float("nan"), "draws", "share")
    if not lengths:
        return found
    length = round(float(np.mean(lengths)))
    anywhere = [fall(film, int(start), int(start) + length) for start in film.step if start + length <= film.step[-1]]
    return replace(found, best=found.effect, luck=float(np.quantile(anywhere, LEVEL)))


def fall(film: Film, start: int, end: int) -> float:
    """The share of the whole fall of the smoothed loss that lies between two steps; where it rises, below 0."""
    smooth = np.convolve(film.loss, np.ones(SMOOTH) / SMOOTH, "valid")
    steps = film.step[SMOOTH // 2:SMOOTH // 2 + len(smooth)]
    before, after = np.interp([start, end], steps, smooth)
    return float((before - after) / (smooth[0] - smooth[-1]))
