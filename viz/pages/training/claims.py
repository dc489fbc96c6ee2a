"""What is true of a film, in words, computed from its curves and its heads' scores."""
from dataclasses import dataclass

import numpy as np

from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.types import KindHeadId
from model.training.film import Film, HeadScores, emergence_interval, loss_drop_step
from viz.format import head_label
from viz.text import strings


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
        return emergence_interval(self.steps, self.traits.of(self.main)[:, self.best(self.main)])

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
    if moment is not None and half is not None:
        sentences = [words["formed"].format(start=moment[0], end=moment[1], fall=half, **facts)]
        if "previous" in story.traits.names:
            sentences += _partner(story, moment)
    else:
        sentences = [words["unformed" if facts["value"] < 0.5 else "always"].format(**facts)]
    if len(story.film.step):
        at = int(np.abs(story.film.step - step).argmin())
        sentences.append(words["now"].format(step=step, loss=float(story.film.loss[at]),
                                             right=float(story.film.right[at])))
    return sentences


def _partner(story: Story, moment: tuple[int, int]) -> list[str]:
    """The previous-token head beside an induction head, if there is one that formed during the film."""
    words, best = strings("training")["claims"], story.best("previous")
    own = emergence_interval(story.steps, story.traits.of("previous")[:, best])
    if own is None:
        return []
    when = "before" if own[0] < moment[0] else "after"
    if own == moment:
        when = "same"
    return [words["before"].format(head=head_name(story.traits.heads[best]), start=own[0], end=own[1],
                                   when=words["when"][when])]


def pair_of(record: AttentionRecord, kind: Kind) -> tuple[int | None, tuple[int, int] | None]:
    """The row worth looking at, and what an ideal head would look at there: the token after this one's first
    occurrence; or the row of "it"."""
    texts = record[kind].queries.texts
    if kind is Kind.CAUSAL and kind == record.kinds[0]:
        for row in range(len(texts) - 2, 0, -1):
            if texts[row] in texts[:row]:
                return row, (row, texts.index(texts[row]) + 1)
        return None, None
    wanted = ("it",) if kind is Kind.SELF else ("il", "elle")
    places = [place for place, text in enumerate(texts) if text.lower() in wanted]
    return (places[-1] - (kind is Kind.CROSS) if places else None), None
