"""What is true of a film, in words, computed from its curves and its heads' scores."""
from dataclasses import dataclass

import numpy as np

from model.core.query import Kind
from model.core.record import AttentionRecord
from model.core.types import KindHeadId
from model.studies.induction import InductionScores
from model.training.processes import Film, HeadScores, emergence_interval, loss_drop_step
from viz.format import head_label
from viz.text import escape_markdown, strings


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
        """Between which two snapshots the best head of a score formed."""
        return emergence_interval(self.steps, self.traits.of(trait)[:, self.best(trait)])

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
    words, best, moment = strings("training")["claims"], story.best(story.main), story.moment
    half = loss_drop_step(story.film)
    first = [words["best"].format(head=head_name(story.traits.heads[best]), what=words["roles"][story.main],
                                  score=words["scores"][story.main],
                                  value=float(story.traits.of(story.main)[-1, best]))]
    if moment is not None:
        first.append(words["formed"].format(start=moment[0], end=moment[1]))
    if half is not None:
        first.append(words["fall"].format(fall=half))
    sentences = [" ".join(first), *_second(story, "previous", "partner"), *_second(story, "mark", "carrier")]
    if len(story.film.step):
        at = int(np.abs(story.film.step - step).argmin())
        sentences.append(words["now"].format(step=int(story.film.step[at]), loss=float(story.film.loss[at]),
                                             right=float(story.film.right[at])))
    return sentences


def _second(story: Story, trait: str, name: str) -> list[str]:
    """What is said of the best head of a further score: of a partner only if it formed during the film."""
    words = strings("training")["claims"]
    if trait not in story.traits.names:
        return []
    best, moment = story.best(trait), story.formed(trait)
    start, end = moment or (0, 0)
    facts = {"head": head_name(story.traits.heads[best]), "start": start, "end": end,
             "value": float(story.traits.of(trait)[-1, best])}
    if name == "partner":
        return [words[name].format(**facts)] if moment else []
    return [" ".join([words[name].format(**facts), *([words["carrier_moment"].format(**facts)] if moment else [])])]


def habit_claims(scores: InductionScores, model: str) -> list[str]:
    """What the heads of a decoder do with random tokens: the best scores, and how far the best match copies."""
    words, names = strings("training")["habits"], [head_label(layer, head) for layer, head in scores.heads]
    back, match = int(scores.previous.argmax()), int(scores.prefix.argmax())
    sentences = [words["best"].format(model=escape_markdown(model), match=names[match], prefix=scores.prefix[match],
                                      back=names[back], previous=scores.previous[back], uniform=scores.uniform)]
    if scores.copying is not None and np.isfinite(scores.copying[match]):
        sentences.append(words["copies"].format(head=names[match], copying=float(scores.copying[match])))
    return sentences


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
