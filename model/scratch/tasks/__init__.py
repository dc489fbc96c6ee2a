"""One file per task: its data, its targets and its scores. Each defines TASKS."""
