"""The request to a job: the tables, the action, and checks that need no table."""
