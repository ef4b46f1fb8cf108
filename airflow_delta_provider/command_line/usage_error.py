"""Error of an invalid command line."""

from __future__ import annotations


class UsageError(Exception):
    """A command line, or a file that it names, cannot be used; the message gives the reason in one line."""
