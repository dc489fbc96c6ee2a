"""ask(question) -> Job: model sources, queue and cache."""
