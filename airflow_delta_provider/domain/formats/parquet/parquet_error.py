"""What is wrong with a Parquet file whose rows are read."""

from __future__ import annotations


class ParquetError(ValueError):
    """The rows cannot be read; the message says why."""


class MissingCodecError(ParquetError):
    """Pages are compressed by a codec that was not passed in. The file may be whole.

    :param codec: by its name in ``parquet.thrift``
    """

    def __init__(self, codec: str) -> None:
        super().__init__(f"it is compressed with {codec}, which cannot be decompressed here")
        self.codec = codec


class UnsupportedError(ParquetError):
    """The file uses what this code does not read. The file may be whole."""


class BrokenValueError(ParquetError):
    """A value is none of its type, such as a text that is not UTF-8. Other columns can be read."""
