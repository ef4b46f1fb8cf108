"""The result of comparing rows before and after a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

#: Maximum number of rows that a finding names.
MOST_ROWS = 5


class RowFault(Enum):
    """Possible faults of a row id in one commit; the first one that applies counts."""

    NO_ID = "no_id"
    REPEATED = "repeated"
    IMPOSSIBLE_ID = "impossible_id"
    IMPOSSIBLE_SEQUENCE = "impossible_sequence"
    COMPACTED = "compacted"
    LOST = "lost"
    ADDED = "added"
    INVENTED = "invented"
    WENT_BACK = "went_back"
    SILENT = "silent"
    OTHER_SEQUENCE = "other_sequence"
    NEW_WITH_OTHER_SEQUENCE = "new_with_other_sequence"


@dataclass(frozen=True)
class ChangedRow:
    """A row id before and after a commit.

    :param before: its sequence number before; None if the commit removed no such row
    :param after: its sequence number after; None if the commit added no such row
    :param file: name of the data file that has it after the commit, or had it before
    :param position: physical position in that file, from 0; None if unknown
    """

    id: int | None
    before: int | None
    after: int | None
    file: str
    position: int | None


@dataclass(frozen=True)
class FaultyRows:
    """Rows with one fault.

    :param count: number of rows
    :param first: first of these rows, by id
    """

    count: int
    first: tuple[ChangedRow, ...] = ()


@dataclass(frozen=True)
class Moved:
    """The numbers of rows that returned under their ids, that disappeared, and that have new ids.

    :param same_content: True if the disappeared and the new rows have the same values, as a whole
    :param before: number of rows that the commit removed
    :param after: number of rows that the commit added
    :param gone_ids: lowest and highest id that disappeared
    :param new_ids: lowest and highest new id
    """

    kept: int
    gone: int
    new: int
    same_content: bool
    before: int = 0
    after: int = 0
    gone_ids: tuple[int, int] | None = None
    new_ids: tuple[int, int] | None = None


@dataclass(frozen=True)
class MovedKeys:
    """The keys of rows that a commit removed and added again, each with one id before and one after.

    :param reassigned: number of keys whose id is new
    :param exchanged: number of keys whose id is another old one
    :param repeated: number of keys that several rows have
    :param first: first of the keys with another id: id before, id after
    """

    reassigned: int
    exchanged: int
    repeated: int
    first: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison."""

    moved: Moved
    faults: Mapping[RowFault, FaultyRows]
    keys: MovedKeys | None = None
