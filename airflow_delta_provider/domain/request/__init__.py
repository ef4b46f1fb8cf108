"""The question put to a job: which tables, what to do with them, and the checks that need no table."""
