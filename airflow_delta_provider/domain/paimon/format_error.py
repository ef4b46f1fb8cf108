"""What is wrong with a file of a table's metadata."""

from __future__ import annotations


class PaimonFormatError(Exception):
    """A file of a table cannot be read as what it should be; the message says why, not which file it is."""


class LargeFileError(PaimonFormatError):
    """A file takes more memory than one of its size may; it may be whole."""
