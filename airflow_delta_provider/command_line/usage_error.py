"""What is wrong with a command line."""

from __future__ import annotations


class UsageError(Exception):
    """A command line, or a file that it names, that cannot be used; the message says why, in a line."""
