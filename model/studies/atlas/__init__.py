"""What every head does over a corpus: measured text by text, in shards whose summaries merge, kept as Parquet files.

`numbers` says what is measured, `measured` does it for one text, `summary` for many; `engines` runs over shards, and
`files` writes and reads them.
"""
