"""The averages of a file of texts by their titles: one page computes them, others colour heads by them."""
from model.core.measures import MEASURES
from model.studies.corpus import FIT
from model.studies.patterns import PATTERNS

# {name: title}
AVERAGES = {each.name: each.title for each in MEASURES} | {FIT + each.name: f"fit: {each.title}" for each in PATTERNS}
FROM_FILE = "file_"   # before the name of an average, where it stands beside a measure of one text
