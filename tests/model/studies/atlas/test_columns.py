"""Every column of every table is explained, and nothing else is."""
import pytest

from model.core.query import Kind
from model.studies.atlas import files, trees
from model.studies.atlas.numbers import COLUMNS
from model.studies.atlas.tables import tables_of
from tests.model.studies.atlas.made import summary
from tests.model.studies.atlas.test_trees import SENTENCE, record

COUNTS = trees.counts_in(record(0), Kind.SELF, SENTENCE, 0)
TABLES = tables_of(summary(range(12))) | {"syntax": trees.syntax_table(COUNTS), "offsets": trees.offsets_table(COUNTS)}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_columns_of_a_table_are_those_that_are_explained(name):
    assert list(TABLES[name].columns) == list(COLUMNS[name]) and all(COLUMNS[name].values())


def test_every_table_that_is_written_is_explained():
    assert set(COLUMNS) == {*files.TABLES, *files.MORE} == set(TABLES)
