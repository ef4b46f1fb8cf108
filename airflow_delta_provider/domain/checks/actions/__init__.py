"""The family ``AC``: the actions of a commit."""
