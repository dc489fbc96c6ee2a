"""The table of averages over a file."""
from model.core.measures import MEASURES
from model.core.query import Kind
from model.studies.corpus import averages_of, merge
from tests import fabricate
from viz.pages.measures import corpus
from viz.text import strings


def test_every_average_stands_beside_its_spread_and_the_number_of_its_texts():
    averages = merge(averages_of(fabricate.record(5), Kind.SELF), averages_of(fabricate.record(7), Kind.SELF))
    table = corpus._table(averages)
    assert list(table) == ["pattern", "fit", "fit_n",
                           *(f"{measure.name}{end}" for measure in MEASURES for end in ("", "_sd", "_n"))]
    assert (table["entropy_n"] == 2).all() and (table["fit_n"] <= 2).all()
    labels = {name: column["label"] for name, column in corpus._columns(table).items()}
    names = strings("measures")["measure_names"]
    assert labels["entropy_n"] == f"n {names['entropy']}" and labels["fit_n"] == "n fit"
    assert len(set(labels.values())) == len(labels)
