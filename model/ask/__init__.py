"""ask(question) -> Job: the sources of models, the queue, the cache."""
