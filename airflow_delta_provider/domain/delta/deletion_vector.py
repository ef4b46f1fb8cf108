"""Deletion vectors: the rows of a data file that the table has deleted.

PROTOCOL.md, Deletion Vectors and Deletion Vector Format. Nothing is read here: the caller passes the bytes. A set of
rows is an int used as a bit set, with bit ``p`` for the row at position ``p`` of the file.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.log_files import is_absolute, is_uri
from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, text_of

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: digit for digit, character in enumerate(_ALPHABET)}
#: Matches only encodings of 16 bytes: no block begins with one of the last digits, which could make it too large.
_IS_UUID = re.compile(rf"(?:[{re.escape(_ALPHABET[:82])}][{re.escape(_ALPHABET)}]{{4}}){{4}}").fullmatch


def is_uuid(text: str) -> bool:
    """Return True if a string encodes 16 bytes, as of a UUID. May return False for a few that do. Fast."""
    return _IS_UUID(text) is not None


def decode_z85(text: str) -> bytes:
    """Decode a string: four bytes for each five characters.

    If the number of bytes was not a multiple of four, they were padded before encoding. The padding is returned with
    them; only a caller that knows their number can cut it off.

    :raises ValueError: if the string is not Z85
    """
    if len(text) % 5:
        raise ValueError(f"it has {len(text)} characters, which is not a multiple of five")
    try:
        digits = [_DIGITS[character] for character in text]
    except KeyError as error:
        raise ValueError(f"it has the character {error}, which Z85 does not have") from None
    decoded = bytearray()
    for start in range(0, len(digits), 5):
        a, b, c, d, e = digits[start : start + 5]
        block = (((a * 85 + b) * 85 + c) * 85 + d) * 85 + e
        if block >> 32:
            raise ValueError(f"its block {text[start : start + 5]!r} is greater than four bytes can be")
        decoded += block.to_bytes(4, "big")
    return bytes(decoded)


#: Format version of files of deletion vectors: their first byte.
_FILE_VERSION = 1
#: Characters of a UUID in Z85; the random prefix comes before them.
_ENCODED_UUID = 20
#: Maximum number of rows if a file's number of rows is unknown: limits the cost of damage to 32 MiB.
_MOST_UNKNOWN = 1 << 28
#: Maximum number of rows in a file whose deletion vectors are read: a set of them takes 128 MiB.
_MOST_ROWS = 1 << 30


#: Bytes of a bitmap. The minimum is its magic number and its number of buckets; an empty bucket adds twelve.
_SMALLEST, _LARGEST_EMPTY, _TOO_BIG = 8, 24, 1 << 31


class BrokenDeletionVectorError(Exception):
    """A deletion vector that cannot be used; the message gives the reason."""


class LargeDeletionVectorError(BrokenDeletionVectorError):
    """A deletion vector that needs more memory than allowed. It may be undamaged."""


class DeletionVector(NamedTuple):
    """The descriptor of a deletion vector in an ``add`` or ``remove`` action.

    :param storage_type: ``u`` for a file named by a UUID, ``p`` for one named by a path, ``i`` for inline
    :param path_or_inline: the UUID with its prefix, the path, or the bytes, depending on the storage type
    :param offset: offset in its file, in bytes; None if the log does not contain one
    :param size_in_bytes: bytes of the bitmap, not encoded, without its size and checksum
    :param cardinality: number of rows that it deletes
    """

    storage_type: str
    path_or_inline: str
    offset: int | None
    size_in_bytes: int
    cardinality: int

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> DeletionVector:
        """Read the descriptor of an action.

        :raises BrokenDeletionVectorError: if it is malformed
        """
        try:
            vector = cls(
                text_of(wire, "storageType"),
                text_of(wire, "pathOrInlineDv"),
                integer_or_none(wire, "offset"),
                integer_of(wire, "sizeInBytes"),
                integer_of(wire, "cardinality"),
            )
        except KeyError as error:
            raise BrokenDeletionVectorError(f"its descriptor lacks {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise BrokenDeletionVectorError(f"its descriptor is malformed ({error})") from error
        if vector.storage_type not in ("u", "p", "i"):
            raise BrokenDeletionVectorError(f"its storage type is {vector.storage_type!r}, which is none of u, p and i")
        if min(vector.offset or 0, vector.size_in_bytes, vector.cardinality) < 0:
            raise BrokenDeletionVectorError("its descriptor has a negative number")
        return vector

    @property
    def unique_id(self) -> str:
        """A string that distinguishes it from the other deletion vectors of a file."""
        return vector_id(self.storage_type, self.path_or_inline, self.offset)

    @property
    def file(self) -> str | None:
        """The file that contains it: relative to the table for ``u``, unchanged for ``p``, None for ``i``.

        :raises BrokenDeletionVectorError: if the name is not a UUID
        """
        if self.storage_type != "u":
            return self.path_or_inline if self.storage_type == "p" else None
        from uuid import UUID  # late, because importing it is slow

        prefix, encoded = self.path_or_inline[:-_ENCODED_UUID], self.path_or_inline[-_ENCODED_UUID:]
        try:
            uuid = UUID(bytes=decode_z85(encoded))
        except ValueError as error:
            raise BrokenDeletionVectorError(f"{encoded!r} is not a UUID: {error}") from error
        return f"{prefix}/deletion_vector_{uuid}.bin" if prefix else f"deletion_vector_{uuid}.bin"

    @property
    def byte_range(self) -> tuple[int, int]:
        """First byte, and the byte after the last, to read from its file for :func:`bitmap_in_range`."""
        start = self.offset or 0
        return start, start + self.size_in_bytes + 8


def vector_id(storage_type: str, path_or_inline: str, offset: int | None) -> str:
    """Return the unique id of a deletion vector within its file: PROTOCOL.md, Derived Fields."""
    return f"{storage_type}{path_or_inline}" if offset is None else f"{storage_type}{path_or_inline}@{offset}"


#: A descriptor with which an engine may express that no row is deleted.
_EMPTY = DeletionVector("i", "", None, 0, 0)


def check_descriptor(vector: DeletionVector, num_rows: int | None) -> None:
    """Check a deletion vector as far as possible without its file; an inline one is checked completely.

    :param num_rows: number of rows in the data file; None if unknown
    :raises BrokenDeletionVectorError: if no reader can use it
    """
    if vector == _EMPTY:
        return
    if not _SMALLEST <= vector.size_in_bytes < _TOO_BIG:
        raise BrokenDeletionVectorError(f"its sizeInBytes is {vector.size_in_bytes}, which no bitmap has")
    if vector.storage_type == "i":
        if vector.offset is not None:
            raise BrokenDeletionVectorError(f"it is inline and has the offset {vector.offset}")
        deleted_rows(inline_bitmap(vector), vector, num_rows)
        return
    if not vector.offset:
        raise BrokenDeletionVectorError("it begins at byte 0 of its file, which holds the file's version")
    if vector.cardinality == 0 and vector.size_in_bytes > _LARGEST_EMPTY:
        raise BrokenDeletionVectorError(f"it deletes no row, but has {vector.size_in_bytes} bytes")
    if vector.storage_type == "p" and not (is_absolute(vector.path_or_inline) and is_uri(vector.path_or_inline)):
        raise BrokenDeletionVectorError(f"{vector.path_or_inline!r} is not an absolute path")
    if vector.storage_type != "u" or not is_uuid(vector.path_or_inline[-_ENCODED_UUID:]):
        _ = vector.file


def check_file_version(content: bytes) -> None:
    """Check the format version of a file of deletion vectors. Delta Spark ignores it, other readers do not.

    :param content: its first bytes
    :raises BrokenDeletionVectorError: if it is another format
    """
    if content and content[0] != _FILE_VERSION:
        raise BrokenDeletionVectorError(f"its file has the format version {content[0]}, not {_FILE_VERSION}")


def bitmap_in_range(content: bytes, vector: DeletionVector) -> bytes:
    """Return the bitmap from the bytes of its file in :attr:`DeletionVector.byte_range`.

    :raises BrokenDeletionVectorError: if they are incomplete, or their size or checksum is wrong
    """
    size = vector.size_in_bytes
    if len(content) < size + 8:
        raise BrokenDeletionVectorError(
            f"its file ends before it: {size + 8} bytes belong at byte {vector.offset or 0}, {len(content)} are there"
        )
    if int.from_bytes(content[:4], "big") != size:
        raise BrokenDeletionVectorError(f"its file gives it another size than the log, which has {size} bytes")
    bitmap = content[4 : 4 + size]
    if zlib.crc32(bitmap) != int.from_bytes(content[4 + size : 8 + size], "big"):
        raise BrokenDeletionVectorError("its bytes do not have the checksum that follows them")
    return bitmap


def inline_bitmap(vector: DeletionVector) -> bytes:
    """Return the bitmap of a vector that is stored in the log.

    :raises BrokenDeletionVectorError: if it is not Z85, or its length is wrong
    """
    try:
        decoded = decode_z85(vector.path_or_inline)
    except ValueError as error:
        raise BrokenDeletionVectorError(f"it is not Z85: {error}") from error
    if not vector.size_in_bytes <= len(decoded) < vector.size_in_bytes + 4:
        raise BrokenDeletionVectorError(f"it has {len(decoded)} bytes, but its descriptor says {vector.size_in_bytes}")
    return decoded[: vector.size_in_bytes]


def deleted_rows(bitmap: bytes, vector: DeletionVector, num_rows: int | None) -> int:
    """Return the rows that a bitmap deletes, as a bit set.

    :param num_rows: number of rows in the data file, from its footer or its statistics, and the maximum number of bits
        in the result. None if unknown
    :raises LargeDeletionVectorError: if a row is beyond the first 2**30, or 2**28 if the number of rows is unknown
    :raises BrokenDeletionVectorError: if the bitmap is damaged, its number of rows differs from the vector's, or it has
        a row that the file does not have
    """
    from airflow_delta_provider.domain.formats.roaring import BeyondLimitError, BrokenBitmapError, read_array

    limit = _MOST_UNKNOWN if num_rows is None else min(num_rows, _MOST_ROWS)
    try:
        rows = read_array(bitmap, limit)
    except BrokenBitmapError as error:
        if isinstance(error, BeyondLimitError) and (num_rows is None or num_rows > limit):
            raise LargeDeletionVectorError(
                f"it deletes a row beyond the limit: rows that are read here are below {limit}"
            ) from error
        raise BrokenDeletionVectorError(f"its bitmap is damaged: {error}") from error
    if rows.bit_count() != vector.cardinality:
        raise BrokenDeletionVectorError(f"it deletes {rows.bit_count()} rows, the log says {vector.cardinality}")
    return rows
