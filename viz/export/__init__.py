"""Files to take away: exports of a view, pictures on paper, My lesson, and the provenance in all of them."""
