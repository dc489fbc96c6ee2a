"""One file a task: its data, what is asked, what counts as right. Each has TASKS."""
