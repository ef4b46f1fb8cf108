"""What a storage says of a file that is not there."""

from __future__ import annotations


class MissingFileError(Exception):
    """There is no such file or directory in the storage of a table.

    Not a ``FileNotFoundError``: one of those comes from this machine, where the job itself lacks something, and says
    nothing about the table.

    :param path: the path or URI that was asked for
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path
