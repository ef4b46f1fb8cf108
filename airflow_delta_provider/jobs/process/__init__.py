"""The process of a job: its submitter, time budget, progress and memory."""
