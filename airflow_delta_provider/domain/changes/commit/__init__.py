"""Commits that no engine can make, so this package builds, checks and writes them itself."""
