"""Vision models: from pictures to patches, and two-tower models that also read texts."""
