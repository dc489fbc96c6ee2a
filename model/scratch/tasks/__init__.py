"""Tasks for training, one file each, with data, targets and scores. Each file defines TASKS."""
