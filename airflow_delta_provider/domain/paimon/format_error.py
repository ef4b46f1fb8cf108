"""Errors in the files of a table."""

from __future__ import annotations


class PaimonFormatError(Exception):
    """A file of a table that cannot be read as expected.

    The message gives the reason, but not the file's name.
    """


class LargeFileError(PaimonFormatError):
    """A file that needs more memory than allowed for its size. It may be undamaged."""
