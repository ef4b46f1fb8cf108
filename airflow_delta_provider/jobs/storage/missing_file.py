"""The error for a missing file in a table's storage."""

from __future__ import annotations


class MissingFileError(Exception):
    """There is no such file or directory in the storage of a table.

    Not a ``FileNotFoundError``, which means that the job itself lacks a local file and says nothing about the table.

    :param path: path or URI that was requested
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
