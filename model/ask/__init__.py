"""Answering questions: model sources, the job queue and caches."""
