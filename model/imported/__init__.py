"""Attention saved by other tools: read from a file, validated, shown in the same views, never called verified."""
