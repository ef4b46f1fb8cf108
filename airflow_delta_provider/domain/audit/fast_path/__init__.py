"""Shortcuts for commits that do the same as earlier ones, which nearly all do: judged by what differs."""
