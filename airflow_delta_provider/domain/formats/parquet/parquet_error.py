"""Errors in a Parquet file whose rows are read."""

from __future__ import annotations


class ParquetError(ValueError):
    """Rows that cannot be read; the message gives the reason."""


class MissingCodecError(ParquetError):
    """Pages compressed with a codec that was not passed in. The file may be undamaged.

    :param codec: name of the codec in ``parquet.thrift``
    """

    def __init__(self, codec: str) -> None:
        super().__init__(f"it is compressed with {codec}, which cannot be decompressed here")
        self.codec = codec


class UnsupportedError(ParquetError):
    """A file that uses features that this code does not support. The file may be undamaged."""


class BrokenValueError(ParquetError):
    """A value that is invalid for its type, such as a string that is not UTF-8.

    Other columns can be read.
    """
