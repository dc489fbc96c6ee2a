"""Vision models, which split pictures into patches, and two-tower models, which also read texts."""
