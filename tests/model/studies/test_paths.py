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
