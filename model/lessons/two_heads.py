"""Examine two heads of our induction decoder that implement one rule together: what each head attends to and writes,
and how silencing one changes the answer (Elhage et al. 2021; Olsson et al. 2022)."""
import random

import numpy as np

from clearhead.model.core.models import ModelQuestion, Models
from clearhead.model.core.query import HeadId, Kind, Progress, Query, Silence, frozen, with_arrays
from clearhead.model.core.traces import AttentionTrace

MODEL = "induction"
PREVIOUS: HeadId = (0, 1)                      # attends to the previous token
INDUCTION: tuple[HeadId, ...] = (1, 0), (1, 1)   # attend to the token after the earlier copy
CHARACTERS = tuple("abcdefghij")               # characters whose vectors are compared
LENGTH = 8                                     # number of characters before the repeated one
SEQUENCES = 32                                 # number of sequences averaged
# {case: silenced heads}
BROKEN: dict[str, tuple[HeadId, ...]] = {"none": (), "previous": (PREVIOUS,), "one": INDUCTION[:1], "both": INDUCTION,
                                         "other": ((0, 0),)}


def sequence(seed: int) -> tuple[str, int]:
    """Return a text of different characters followed by a repetition of one of them, and the position of that
    character's first occurrence among the tokens."""
    rng = random.Random(seed)
    characters, repeated = rng.sample(CHARACTERS, LENGTH), rng.randrange(LENGTH - 2)   # not next to the last character
    return " ".join([*characters, characters[repeated]]), repeated + 1   # [BOS] is at position 0


def silenced(broken: str) -> frozenset[Silence]:
    """Return the edits that silence the heads of one case of BROKEN."""
    return frozenset(Silence(Kind.CAUSAL, *head) for head in BROKEN[broken])


@frozen
class TwoHeadsQuery(ModelQuestion):
    """What do the two heads do, according to their weights and over SEQUENCES sequences?"""

    def answer(self, models: Models, report: Progress) -> "TwoHeads":
        """Compute the circuits of the weights, and the mean probability of the correct character in every case."""
        opened = models.open(self, report)
        trace = models.trace(Query(self.model, self.revision, sequence(1)[0]), report)
        embedding = opened.network.get_input_embeddings().weight.detach().numpy().astype(np.float64)
        ids = [number for character in CHARACTERS for number in opened.vocabulary.find(character)]
        first, second = (trace.attention(Kind.CAUSAL, layer) for layer in (PREVIOUS[0], INDUCTION[0][0]))
        vectors, head = embedding[ids], INDUCTION[0][1]
        assert trace.unembedding is not None   # our decoder has one
        chances: dict[str, list[float]] = {name: [] for name in BROKEN}
        for seed in range(1, SEQUENCES + 1):
            text, copy = sequence(seed)
            given = opened.tokens(Query(self.model, self.revision, text))
            right, = opened.vocabulary.find(text.split()[copy])
            for name, each in chances.items():
                logits = opened.run(given, silenced(name), every=True).outputs()[0, -1]
                each.append(float(logits.softmax(-1)[right]))
        return TwoHeads(question(second, head, vectors, vectors),
                        question(second, head, vectors, written(first, PREVIOUS[1], vectors)),
                        written(second, head, vectors) @ trace.unembedding.weight[ids].T,
                        {name: float(np.mean(each)) for name, each in chances.items()})


@with_arrays
class TwoHeads:
    """Three maps between characters without norms, float64 (character, character), and the effect of silencing."""

    direct: np.ndarray           # score of the induction head between the embeddings of two characters
    through: np.ndarray          # the same, but with the previous-token head's output for the second character as key
    copies: np.ndarray           # logits that the induction head adds for every character when it attends to another
    chances: dict[str, float]    # {case of BROKEN: mean probability of the correct character}

    nbytes = 3000


def question(attention: AttentionTrace, head: int, looking: np.ndarray, looked_at: np.ndarray) -> np.ndarray:
    """Compute a head's QK circuit x W_Q (y W_K)ᵀ for query vectors x and key vectors y, (query, key)."""
    query, key = (getattr(attention, name).weight[head] for name in ("query", "key"))
    return looking @ query @ (looked_at @ key).T


def written(attention: AttentionTrace, head: int, looked_at: np.ndarray) -> np.ndarray:
    """Compute a head's OV circuit y W_V W_O for attended vectors y, (key, d_model)."""
    return looked_at @ attention.value.weight[head] @ attention.w_output[head]
