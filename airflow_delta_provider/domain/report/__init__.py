"""The answer of a job: findings, verdicts, and how they travel and are shown."""
