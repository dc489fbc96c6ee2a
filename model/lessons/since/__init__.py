"""What changed in the Transformer since 2017: its block, its cache, its experts, how it writes, how it grows."""
