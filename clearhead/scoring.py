"""Score every head of a model on a user's rule."""
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from clearhead.model import sources
from clearhead.model.core.query import HeadId, UserError, quoted
from clearhead.model.studies import rule
from clearhead.models import Model
from clearhead.record import ask, listed

if TYPE_CHECKING:
    from pandas import DataFrame


class Score:
    """Every head's score on a rule, with positional, chance and untrained baselines."""

    def __init__(self, answer: rule.RuleReport, untrained: rule.RuleReport | None) -> None:
        self.answer = answer
        self.untrained = None if untrained is None else Score(untrained, None)

    def __repr__(self) -> str:
        return f"<Score over {self.answer.pairs:,} pairs: {self.summary()}>"

    def summary(self) -> str:
        """Summarise the result in one line: held-out accuracy, the best head, the best offset and the null."""
        return repr(self.answer)

    @property
    def best(self) -> HeadId:
        """The (layer, head) with the highest accuracy."""
        return self.answer.best

    def frame(self) -> "DataFrame":
        """Return one row per head, best first: layer, head, accuracy with low and high (95% interval; NaN for fewer
        than eight independent sentences), and weight (the mean weight on the target words)."""
        return self.answer.frame().reset_index()


def score(model: Model, cases: str | Path | Iterable[rule.RuleCase], find: tuple[rule.Side, rule.Side] | int, *,
          untrained: bool = True) -> Score:
    """Score every head on the rule "from words matching A to words matching B": how often the word that A attends to
    most, other than itself, matches B.

    cases: texts; mappings such as {"text": "The cat sat.", "verb": "sat", "subject": "cat"}, whose marks are words or
    (start, end) spans; or the path of a treebank (.conllu), table (.csv, .jsonl) or text file (.txt). find: (A, B).
    Each is a key of the cases, a list of words, a compiled regular expression or "word" for any word; with a treebank
    also a part of speech (VERB) or a relation (nsubj). B, or `find` itself, can be an offset in words. untrained:
    whether to also score the model with random weights. Raises Error if no pair can be tested. See `model.studies.rule`
    for the baselines.
    """
    if isinstance(cases, str | Path):
        path = Path(cases).expanduser()
        try:
            file = path.open("rb")
        except (OSError, ValueError) as error:
            raise UserError(f"There is no file {quoted(str(cases))} to read; give the path of one, or texts in a list, "
                            f"such as [\"The cat sat.\"].") from error
        with file:
            marked = rule.mark(rule.read_cases(file, path.name), find)
    else:
        marked = rule.mark(listed("cases", cases, '["The cat sat."]'), find)
    answer = ask(rule.RuleQuery(model.name, model.revision, marked))
    twin = sources.untrained(model.name)
    other = ask(rule.RuleQuery(twin, sources.revision(twin), marked)) if untrained else None
    return Score(answer, other)
