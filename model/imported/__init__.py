"""Attention saved by other tools, which is read from a file, validated and shown in the same views, but never called
verified."""
