"""What the comparison of rows before and after a commit came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

#: Rows that a finding names.
MOST_ROWS = 5


class RowFault(Enum):
    """What may be wrong with a row id in one commit; of several the first counts."""

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

    :param before: its sequence number before; None where no such row was among those that the commit took
    :param after: likewise after it
    :param file: name of the data file that has it after the commit, or had it before
    :param position: in that file, physical, from 0; None where that is not known
    """

    id: int | None
    before: int | None
    after: int | None
    file: str
    position: int | None


@dataclass(frozen=True)
class FaultyRows:
    """Rows with one fault.

    :param count: how many there are
    :param first: the first of them, by id
    """

    count: int
    first: tuple[ChangedRow, ...] = ()


@dataclass(frozen=True)
class Moved:
    """How many of the rows that a commit took came back under their ids, and how many came under new ones.

    :param same_content: whether those that are gone and those that are new have the same values, all in all
    :param before: rows that the commit took
    :param after: rows that it brought
    :param gone_ids: the lowest and the highest id that is gone
    :param new_ids: the lowest and the highest new id
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
    """Keys of rows that a commit took and brought, each with one id before and one after.

    :param reassigned: keys whose id is a new one
    :param exchanged: keys whose id is another old one
    :param repeated: keys that several rows have
    :param first: the first of those that moved: id before, id after
    """

    reassigned: int
    exchanged: int
    repeated: int
    first: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a comparison came to."""

    moved: Moved
    faults: Mapping[RowFault, FaultyRows]
    keys: MovedKeys | None = None
