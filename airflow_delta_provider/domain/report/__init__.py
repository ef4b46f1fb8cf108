"""The answer of a job: findings and verdicts, and how they are sent and shown."""
