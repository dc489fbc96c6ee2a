"""Paths of a known circuit, and ablations compared with edits. `test_edits.py` compares paths with plain torch."""
import pytest

from clearhead.model import sources
from clearhead.model.ask import desk
from clearhead.model.core.query import Hide, Kind, Patch, Silence, Temper, UserError, quiet
from clearhead.model.studies.paths import AblationQuery, PathsQuery
from tests.model import tiny

TEXT, TWIN = "a cat sat on mat because it was too tired", "a cat sat on mat because it was too wide"


@pytest.mark.parametrize("changes", [{"receiver": (1, 9)}, {"senders": ((7, 0),)}, {"receiver": (0, 1)},
                                     {"receiver": (1, 0), "senders": ((1, 1),)}])
def test_heads_without_a_path_are_refused(changes):
    query, twin = (sources.open_query("induction", text) for text in ("a b x c d y a", "c b x a d y a"))
    with pytest.raises(UserError, match="There is no such path"):
        desk.ask(PathsQuery(query, twin, 7, "b", "d", **changes)).result()


def test_twin_of_another_model_is_refused():
    query = sources.open_query("induction", "a b x c d y a")
    with pytest.raises(UserError, match="choose the same model for both"):
        desk.ask(PathsQuery(query, sources.open_query("scratch", "a b"), 7, "b", "d")).result()


@pytest.mark.parametrize("receiver", [(1, 0), (1, 1)])
def test_one_path_carries_the_repeat(receiver):
    """The keys of the induction heads read the previous-token head 0·1; no other path moves the answer as far."""
    words = [phrase for group in desk.vocabulary("induction").values() for phrase in group]
    text = [*words[:8], *words[:3]]
    twin = [*words[:2], words[9], *words[3:8], *words[:3]]   # the word before the answer's first occurrence is another
    query, other = (sources.open_query("induction", desk.join_phrases("induction", each)) for each in (text, twin))
    record = desk.ask(query).result()
    tokens = record[Kind.CAUSAL].queries
    answer, rival = tokens.ids[tokens.texts.index(words[3])], tokens.ids[tokens.texts.index(words[5])]
    found = desk.ask(PathsQuery(query, other, len(tokens) - 1, answer, rival, receiver, ("key",))).result()
    effects = dict(zip(found.senders, found.patched - found.plain, strict=True))
    assert found.plain > 1
    assert effects[0, 1] < -0.1 * found.plain
    assert abs(effects[0, 0]) < 0.05 * abs(effects[0, 1])


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_ablations_equal_the_models_own_edits(family, tmp_path):
    """Each head is ablated besides the edits of its text; a silenced head has nothing to ablate."""
    folder, kind = tiny.save(tmp_path / family, family), Kind.SELF if family == "bert" else Kind.CAUSAL
    twin, own = sources.open_query(str(folder), TWIN), (Temper(kind, 1, 2, 3.0), Hide("source", 2))
    query = sources.open_query(str(folder), TEXT, edits=[*own, Silence(kind, 0, 1)])
    place = len(desk.ask(query).result()[kind].queries) - 1
    found = desk.ask(AblationQuery(query, twin, place, 7, 12, ((0, 1), (2, 0)))).result()
    opened = desk.models.open(query, quiet)

    def difference(*edits):
        logits = opened.run(opened.tokens(query), frozenset(edits), every=True).outputs()[0, place]
        return float(logits[7] - logits[12])

    for number, head in enumerate(found.heads):
        silenced = [] if head == (0, 1) else [Silence(kind, 0, 1)]
        mean = Silence(kind, *head, "mean" if silenced else "zero")
        for way, edit in enumerate((Silence(kind, *head), mean, Patch(kind, *head, twin))):
            assert difference(*own, *silenced, edit) == pytest.approx(found.removed[number, way], abs=1e-4)
    assert found.plain == pytest.approx(difference(*query.edits), abs=1e-5)
