"""Every claim has its texts, source and models; missing models are reported with the command to fetch them."""
import json
import re
from dataclasses import replace

import pytest

from clearhead.model.pretrained.catalogue import ENTRIES
from clearhead.model.scratch.source import is_scratch
from clearhead.model.studies.claims import catalogue
from clearhead.model.studies.claims.catalogue import CLAIMS, as_object, field, papers, rows, short_source, words
from clearhead.model.studies.claims.claim import Finding

NAMES = {entry.name for entry in ENTRIES}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_claim_is_complete(claim):
    said = words()["claims"][claim.name]
    assert all(said[name] for name in ("sentence", "there", "here")) and set(said) == {"sentence", "there", "here"}
    assert all(model in NAMES or is_scratch(model) for model in claim.models)
    entry = papers()[claim.paper]
    assert field(entry, "title") and field(entry, "author") and re.fullmatch(r"\d{4}", field(entry, "year"))
    assert short_source(claim.paper).endswith(field(entry, "year"))


def test_no_verdict_is_stored_text():
    """The phrases of verdicts are in one place, and no claim's text contains them."""
    phrases = words()["verdicts"].values()
    stored = json.dumps(words()["claims"]) + json.dumps(words()["findings"])
    assert not [phrase for phrase in phrases if phrase in stored]


def test_claim_is_tested_on_every_model_on_disk():
    found = [(row.claim.name, row.model) for row in rows({"minilm", "smollm2"})]
    assert ("previous", "minilm") in found and ("previous", "smollm2") in found and ("sink", "smollm2") in found
    missing = next(row for row in rows({"minilm"}) if row.claim.name == "figure_ground")
    assert missing.model == "" and missing.missing == ("dinov2-small",)
    assert len(list(rows(()))) == len(CLAIMS)
    here = next(row for row in rows({"minilm"}) if row.model)
    told = [as_object(row, None, None) for row in (missing, here)]
    assert "fetch dinov2-small" in told[0]["fetch"] and told[1]["fetch"] is None
    assert all(each["findings"] == [] and each["measurement"] is None for each in told)


def test_numbers_of_a_finding_are_written_with_its_null():
    found = Finding("previous", 0.5, 0.25, 0.75, 0.1, 12, "texts", "bits", 0.9)
    for luck, said in ((0.3, "; chance 0.300, best head 0.900"), (None, "")):
        wanted = f"0.500 bits (0.250 to 0.750); baseline 0.100{said}; 12 texts"
        assert catalogue.numbers_in_words(replace(found, luck=luck)).endswith(wanted)
