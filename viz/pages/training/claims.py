"""What is true of a film, in words, computed from its curves and its heads' scores."""
from dataclasses import dataclass

import numpy as np

from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.types import KindHeadId
from model.studies.induction import InductionScores
from model.training.film import FORMED, Film, HeadScores, emergence_interval, loss_drop_step
from viz.claims import as_printed, first_true
from viz.format import format_signed, head_label
from viz.text import escape_markdown, strings

DIGITS = 2       # behind the point, of a score as it is printed: the moment at which a head forms is told from them
COPIES = 0.5     # a copying score from which a head is said to copy


def head_name(head: KindHeadId) -> str:
    """As the page writes it: layer and head, with its kind where a model has more than one."""
    kind, layer, number = head
    return f"cross {head_label(layer, number)}" if kind is Kind.CROSS else head_label(layer, number)


@dataclass(frozen=True, eq=False)
class Story:
    """A film's heads over its snapshots `steps`, as far as they were looked at."""

    film: Film
    traits: HeadScores
    steps: tuple[int, ...]

    @property
    def main(self) -> str:
        """The score that the film is about."""
        return self.traits.names[0]

    def best(self, trait: str) -> int:
        """The head with the highest score at the end."""
        return int(self.traits.of(trait)[-1].argmax())

    @property
    def moment(self) -> tuple[int, int] | None:
        """Between which two snapshots the best head formed."""
        return self.formed(self.main)

    def formed(self, trait: str) -> tuple[int, int] | None:
        """Between which two snapshots the best head of a score formed, by the digits that are printed."""
        return emergence_interval(self.steps, np.round(self.traits.of(trait)[:, self.best(trait)].astype(float),
                                                       DIGITS))

    def lines(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """What the third panel draws: every head's main score, and the best one's of each further score; and the names
        that stand out."""
        words = strings("training")["traits"]
        drawn = {words[self.main].format(head=head_name(head)): scores
                 for head, scores in zip(self.traits.heads, self.traits.of(self.main).T)}
        bold = []
        for trait in self.traits.names:
            best = self.best(trait)
            bold.append(words[trait].format(head=head_name(self.traits.heads[best])))
            drawn[bold[-1]] = self.traits.of(trait)[:, best]
        return drawn, bold


def claims(story: Story, step: int) -> list[str]:
    """Sentences in Markdown, the moment first."""
    words, best = strings("training")["claims"], story.best(story.main)
    facts = {"head": head_name(story.traits.heads[best]), "what": words["roles"][story.main],
             "score": words["scores"][story.main], "value": float(story.traits.of(story.main)[-1, best])}
    moment, half = story.moment, loss_drop_step(story.film)
    formed = round(facts["value"], DIGITS) >= FORMED
    name = first_true([(moment is not None and half is not None, "formed"), (moment is not None, "formed_alone"),
                       (formed, "always"), (True, "unformed")])
    start, end = moment or (None, None)
    sentences = [words[name].format(start=start, end=end, fall=half, **facts)]
    if moment is not None and "previous" in story.traits.names:
        sentences += _partner(story, moment)
    if "mark" in story.traits.names:
        sentences.append(_carrier(story))
    if len(story.film.step):
        at = int(np.abs(story.film.step - step).argmin())
        sentences.append(words["now"].format(step=int(story.film.step[at]), loss=float(story.film.loss[at]),
                                             right=float(story.film.right[at])))
    return sentences


def _partner(story: Story, moment: tuple[int, int]) -> list[str]:
    """The previous-token head beside an induction head, if there is one that formed during the film. What an induction
    head reads must stand in a layer before it."""
    best, own = story.best("previous"), story.formed("previous")
    if own is None:
        return []
    layer, induction = (story.traits.heads[place][1] for place in (best, story.best(story.main)))
    name = first_true([(layer >= induction, "beside"), (own == moment, "partner_same"),
                       (own < moment, "partner_before"), (True, "partner_after")])
    return [strings("training")["claims"][name].format(head=head_name(story.traits.heads[best]), start=own[0],
                                                       end=own[1])]


def _carrier(story: Story) -> str:
    """The head that tells the patches with digits of the dot, if one does, and since when."""
    words, best, formed = strings("training")["claims"], story.best("mark"), story.formed("mark")
    value = float(story.traits.of("mark")[-1, best])
    moment = words["carrier_moment"].format(start=formed[0], end=formed[1]) if formed else ""
    name = first_true([(round(value, DIGITS) >= FORMED, "carrier"), (True, "no_carrier")])
    return str(words[name].format(head=head_name(story.traits.heads[best]), value=value, moment=moment))


def habit_claims(scores: InductionScores, model: str) -> list[str]:
    """What the heads of a decoder do with random tokens: the best scores, and whether the best match copies."""
    words, names = strings("training")["habits"], [head_label(layer, head) for layer, head in scores.heads]
    back, match = int(scores.previous.argmax()), int(scores.prefix.argmax())
    sentences = [words["best"].format(model=escape_markdown(model), match=names[match], prefix=scores.prefix[match],
                                      back=names[back], previous=scores.previous[back], uniform=scores.uniform)]
    if scores.copying is not None and np.isfinite(scores.copying[match]):
        copying = _score(float(scores.copying[match]))
        value = as_printed(float(scores.copying[match]), _score)
        name = first_true([(value >= COPIES, "copies"), (value > 0, "copies_some"), (value == 0, "copies_even"),
                           (True, "copies_not")])
        sentences.append(words[name].format(head=names[match], copying=copying))
    return sentences


def _score(score: float) -> str:
    return format_signed(score, f".{DIGITS}f")


def pair_of(record: AttentionRecord, kind: Kind) -> tuple[int | None, tuple[int, int] | None]:
    """The row worth looking at, and what an ideal head would look at there: the token after this one's first
    occurrence; or the row of "it", or of [CLS]."""
    texts = record[kind].queries.texts
    if record.picture is not None:
        return 0, None
    if kind is Kind.CAUSAL and kind == record.kinds[0]:
        for row in range(len(texts) - 2, 0, -1):
            if texts[row] in texts[:row]:
                return row, (row, texts.index(texts[row]) + 1)
        return None, None
    wanted = ("it",) if kind is Kind.SELF else ("il", "elle")
    places = [place for place, text in enumerate(texts) if text.lower() in wanted]
    return (places[-1] - (kind is Kind.CROSS) if places else None), None
