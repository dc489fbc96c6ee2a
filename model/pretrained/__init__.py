"""Any text Transformer of the Hugging Face kind: loaded safely, captured, checked. transformers is imported inside
functions only."""
