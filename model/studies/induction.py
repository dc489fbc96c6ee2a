"""Find previous-token and induction heads with repeated random tokens (Olsson et al. 2022).

An induction head attends to the token that followed the last occurrence of the current token. The test works for any
decoder and does not depend on the meaning of a text.
"""
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clearhead.model.core import heads
from clearhead.model.core.models import ModelQuestion, Models, OpenModel, query_of
from clearhead.model.core.query import (
    Edit,
    HeadId,
    Kind,
    Progress,
    Query,
    UserError,
    counted,
    frozen,
    quiet,
    with_arrays,
)
from clearhead.model.core.record import AttentionMap
from clearhead.model.studies.head_weights import copying, head_weights

if TYPE_CHECKING:
    from pandas import DataFrame


FIRST = "a"   # precedes the random tokens, because many heads attend mostly to the first token
LENGTH = 25   # number of tokens to repeat


@frozen
class InductionMeanQuery(ModelQuestion):
    """The mean scores over `draws` random sequences."""

    draws: int = 8

    def answer(self, models: Models, report: Progress) -> "InductionScores":
        """Compute the means. Raises UserError unless the model is decoder-only."""
        opened = models.open(self, report)
        scores = mean_scores(opened, draws=self.draws, report=report)
        if not opened.ours:
            return scores
        trace = opened.trace(query_of(opened, [opened.vocabulary.neutral]), quiet)
        return replace(scores, copying=copying(opened, trace, head_weights(trace, Kind.CAUSAL), Kind.CAUSAL))


@frozen
class InductionScores:
    """Every head's scores on repeated random tokens: one number per head, from 0 to 1 unless stated otherwise."""

    heads: tuple[HeadId, ...]           # (layer, head), in the order of the arrays
    previous: np.ndarray                # mean weight on the previous token
    # prefix matching (Olsson et al. 2022): mean weight from a token's second occurrence to the token after its first
    prefix: np.ndarray
    uniform: float                      # approximate score of uniform rows
    # whether a head raises the logits of the tokens it attends to, -1 to 1 (see `model.studies.head_weights`)
    copying: np.ndarray | None = None   # None for models that were not trained here
    duplicate: np.ndarray | None = None   # mean weight from a token's second occurrence to its first

    def frame(self) -> "DataFrame":
        """Return one row per head: prefix, previous and, if available, copying."""
        columns = {"prefix": self.prefix, "previous": self.previous}
        return heads.head_frame(self.heads, columns | ({} if self.copying is None else {"copying": self.copying}))


def usable_tokens(tokenizer: Any) -> list[int]:
    """Return the ids of a tokenizer's vocabulary without its special tokens, in order."""
    return sorted(set(range(len(tokenizer))) - set(tokenizer.all_special_ids))


def random_tokens(opened: OpenModel, ids: Sequence[int]) -> Query:
    """Return the query of these ids, preceded by those of FIRST."""
    first = opened.tokens(Query(opened.card.id, opened.card.revision, FIRST)).source.ids
    return query_of(opened, [*first, *ids])


def repeated(opened: OpenModel, seed: int = 1, edits: frozenset[Edit] = frozenset(),
             length: int = LENGTH) -> AttentionMap:
    """Return an open model's attention over `length` different random tokens and their repetition, with these edits.
    Raises UserError unless it is decoder-only and has as many tokens."""
    if opened.task != "next":
        raise UserError(f"{opened.card.title} does not predict a next token; choose a decoder such as SmolLM2.")
    usable = usable_tokens(opened.tokenizer)
    if length > len(usable):
        raise UserError(f"{opened.card.title} has {len(usable)} different tokens, of which {length} are needed; choose "
                        f"a decoder with more, such as SmolLM2.")
    chosen = random.Random(seed).sample(usable, length)
    record = opened.record(replace(random_tokens(opened, [*chosen, *chosen]), edits=edits), quiet)
    if record.omitted is not None:
        raise UserError(f"{opened.card.title} reads at most {opened.card.max_tokens} tokens, too few to repeat "
                        f"{length}; choose another decoder, such as SmolLM2.")
    if Kind.CAUSAL not in record.kinds or Kind.CROSS in record.kinds:
        raise UserError(f"{opened.card.title} is not a decoder on its own; choose one, such as SmolLM2.")
    return record[Kind.CAUSAL]


def mean_scores(opened: OpenModel, edits: frozenset[Edit] = frozenset(), draws: int = 20,
                report: Progress = quiet, length: int = LENGTH) -> InductionScores:
    """Average the scores over several random sequences of `length` tokens and their repetition."""
    drawn = [scores(repeated(opened, seed, edits, length), length)
             for seed, _ in counted(range(draws), report, "random tokens")]
    return replace(drawn[0], **{name: np.mean([getattr(one, name) for one in drawn], axis=0)
                                for name in ("previous", "prefix", "duplicate")})


def scores(attention_map: AttentionMap, length: int) -> InductionScores:
    """Score a causal map whose last 2 · `length` tokens are a sequence and its repetition."""
    rows = np.arange(len(attention_map.queries))[-2 * length:]
    second = rows[length:-1]   # the last token has no successor to match
    cells = (rows, rows - 1), (second, second - length + 1), (second, second - length)
    previous, prefix, duplicate = np.concatenate([
        [weights[:, queries, keys].mean(1) for queries, keys in cells]
        for weights in map(heads.whole, attention_map.layers)], 1)
    return InductionScores(heads.head_ids(attention_map), previous, prefix, float((1 / (second + 1)).mean()),
                           duplicate=duplicate)


FORMED = 0.5   # minimum score of an induction head
SMOOTH = 5     # number of points to average, because the loss of single batches is noisy


@with_arrays
class Film:
    """The snapshots and curves of a training run. The curves are measured on freshly drawn training batches."""

    frames: tuple[int, ...]   # steps with a snapshot
    step: np.ndarray          # step of each point (point)
    loss: np.ndarray          # nats (point)
    right: np.ndarray         # share of correct predictions (point)
    about: dict[str, Any]     # metadata of the file

    @property
    def guessing(self) -> float:
        """The loss of uniform predictions, in nats."""
        return float(np.log(self.about["config"]["vocabulary"]))

    @property
    def smooth(self) -> np.ndarray:
        """The loss averaged over SMOOTH points, nats (point)."""
        return np.convolve(self.loss, np.ones(SMOOTH) / SMOOTH, "valid")


def read_film(path: Path) -> Film:
    """Read the snapshot file of a training run. Raises UserError if it is missing or damaged."""
    import json

    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            about = {name: json.loads(value) for name, value in (file.metadata() or {}).items()}
            step, loss, right = (np.asarray(file.get_tensor(f"history.{name}")) for name in ("step", "loss", "right"))
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"The snapshots {path.name} cannot be read ({type(error).__name__}); create them with: python "
                        f"-m model train TASK.") from error
    return Film(tuple(sorted(about["frames"])), step, loss, right, about)


def emergence_interval(steps: Sequence[int], scores: np.ndarray) -> tuple[int, int] | None:
    """Return the steps of the two snapshots between which a head's score (frame) permanently exceeds FORMED; None if it
    never does or does so from the start."""
    below = np.flatnonzero(np.asarray(scores) < FORMED)
    if len(below) == 0 or below[-1] == len(scores) - 1:
        return None
    return steps[below[-1]], steps[below[-1] + 1]


def loss_drop_step(film: Film) -> int | None:
    """Return the step at which the smoothed loss crosses the midpoint between its first and last value; None if the
    curve is too short or does not fall."""
    if len(film.loss) < 2 * SMOOTH:
        return None
    smooth = film.smooth
    if not smooth[-1] < smooth[0]:   # also false for NaN
        return None
    return int(film.step[np.argmax(smooth < (smooth[0] + smooth[-1]) / 2) + SMOOTH // 2])
