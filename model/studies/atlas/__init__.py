"""Measure every head over a corpus, split into shards whose summaries can be merged, and store Parquet files.

`measured` defines the measures and computes them for one text, `summary` aggregates texts, `workers` runs the shards,
and `files` stores the result.
"""
