"""Measure every head over a corpus: text by text, in shards with mergeable summaries, stored as Parquet files.

`measured` defines the measures and computes them for one text, `summary` combines many; `workers` runs over shards, and
`files` stores the result.
"""
