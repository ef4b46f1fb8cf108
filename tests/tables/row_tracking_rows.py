"""Materialized ids that are wrong, and such that only look so, of tables that Delta wrote.

As in ``row_tracking_damage``: a damage cuts the history of a table of ``row_tracking.operations``, changes
one thing in its data files, and returns the files that a finding should name.

The table by its bases, as of version 5: 0, 4, 8, 12 (four rows each; three of them with deletion vectors),
16 and 18 (the three rows of the UPDATE, materialized), 19 (three rows of the MERGE, one materialized, one
deleted). As of 6: one file of fifteen rows at 22, all materialized. The high water mark is the last of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tables import log
from tests.tables import row_tracking_files as files
from tests.tables.row_tracking_files import COMMIT_VERSION, ID, holding, set_materialized
from tests.tables.row_tracking_history import live, set_mark, settled, with_base

Files = list[str]

# -- not unique, or impossible --------------------------------------------------------------------


def fresh_and_materialized(path: Path) -> Files:
    """A row of the UPDATE takes the id of a row in a file without deletion vector."""
    settled(path, 5)
    return [_give(path, 18, 0, 9), with_base(path, 8)]


def under_a_vector_that_does_not_hide_it(path: Path) -> Files:
    """The file with the other row has a deletion vector, which deletes another row."""
    settled(path, 5)
    return [_give(path, 18, 0, 6), with_base(path, 4)]


def fresh_in_a_file_with_the_column(path: Path) -> Files:
    """A null becomes base and position, which is a materialized id of another file."""
    settled(path, 5)
    file = with_base(path, 19)
    found = files.materialized(path, file)
    assert found is not None
    deleted = 16  # the row with this column ``id`` was deleted
    ids = files.rows_of(path, file).column("id").to_pylist()
    position = next(at for at, value in enumerate(found) if value is None and ids[at] != deleted)
    return [_give(path, 18, 0, 19 + position), file]


def two_materialized(path: Path) -> Files:
    settled(path, 5)
    other = with_base(path, 16)
    found = files.materialized(path, other)
    assert found is not None
    assert found[1] is not None
    return [_give(path, 18, 0, found[1]), other]


def twice_in_a_file(path: Path) -> Files:
    settled(path, 6)
    row_id = _ids(path, 22)[9]
    assert row_id is not None
    return [_give(path, 22, 3, row_id)]


def twice_in_row_groups(path: Path) -> Files:
    """Row groups of two rows: a null in the sixth is base and position in the file, not in the group."""
    settled(path, 6)
    file = with_base(path, 22)
    set_materialized(path, file, {11: None, 0: 33}, row_group_size=2)
    return [file]


def null_id_elsewhere(path: Path) -> Files:
    """A materialized id is lost, so that its row gets base and position, which is another row's id."""
    settled(path, 6)
    file = with_base(path, 22)
    set_materialized(path, file, {4: None, 5: 26})
    return [file]


def all_ids_lost_but_one(path: Path) -> Files:
    settled(path, 6)
    file = with_base(path, 22)
    set_materialized(path, file, {**dict.fromkeys(range(15)), 14: 22})
    return [file]


def id_above_mark(path: Path) -> Files:
    settled(path, 6)
    return [_give(path, 22, 3, 37)]


def id_far_above_mark(path: Path) -> Files:
    settled(path, 6)
    return [_give(path, 22, 3, 2**63 - 1)]


def id_negative(path: Path) -> Files:
    settled(path, 6)
    return [_give(path, 22, 3, -1)]


def id_most_negative(path: Path) -> Files:
    settled(path, 6)
    return [_give(path, 22, 3, -(2**63))]


# -- the same, harmless ---------------------------------------------------------------------------


def hidden_in_the_fresh_file(path: Path) -> None:
    """A row of the UPDATE takes an id that another file's deletion vector hides."""
    settled(path, 5)
    _give(path, 18, 0, 0)


def hidden_in_the_materialized_file(path: Path) -> None:
    """The old copy of the row of the second UPDATE, which its deletion vector hides, has another row's id."""
    settled(path, 7)
    _give(path, 22, _ids(path, 22).index(2), 9)


def impossible_but_hidden(path: Path) -> None:
    """Likewise, with an id above the mark and another one negative."""
    settled(path, 7)
    _give(path, 22, _ids(path, 22).index(2), 1000)


def id_at_mark(path: Path) -> None:
    settled(path, 6)
    set_mark(path, 50)
    _give(path, 22, 3, 50)


def all_ids_null(path: Path) -> None:
    settled(path, 6)
    set_materialized(path, with_base(path, 22), dict.fromkeys(range(15)))


def column_omitted(path: Path) -> None:
    settled(path, 6)
    name = log.configuration(path)[ID]
    files.rewrite(path, with_base(path, 22), lambda rows: rows.drop_columns([name]))


def written_otherwise(path: Path, *, encoding: str | None = None, **options: Any) -> None:
    """The same rows in another encoding, compression, size of row groups or pages, without statistics.

    :param encoding: of the materialized columns
    """
    settled(path, 7)
    if encoding:
        options["column_encoding"] = {log.configuration(path)[key]: encoding for key in (ID, COMMIT_VERSION)}
    for file in live(path):
        files.rewrite(path, file, lambda rows: rows, **options)


# -- ids that were stable -------------------------------------------------------------------------


def foreign_id(path: Path) -> Files:
    """The UPDATE (3) wrote an id that it did not remove; the DELETE (5) hides the row it belonged to."""
    settled(path, 5)
    return [_give(path, 18, 0, 0)]


def foreign_commit_version(path: Path) -> Files:
    """The OPTIMIZE (6) moved a row that was last written by commit 1, and says 2."""
    settled(path, 6)
    file, position = holding(path, 8)
    set_materialized(path, file, {position: 2}, COMMIT_VERSION)
    return [file]


def foreign_commit_version_of_an_updated_row(path: Path) -> Files:
    """The UPDATE (3) wrote a row of commit 1 or 2: its row commit version is neither 0 before nor 3."""
    settled(path, 3)
    file = with_base(path, 18)
    set_materialized(path, file, {0: 0}, COMMIT_VERSION)
    return [file]


def ids_swapped(path: Path) -> Files:
    """The OPTIMIZE (6) exchanged the ids of two rows of commit 1."""
    settled(path, 6)
    file, one = holding(path, 8)
    _, other = holding(path, 9)
    set_materialized(path, file, {one: 9, other: 8})
    return [file]


def _give(path: Path, base_row_id: int, position: int, row_id: int) -> str:
    """Give a row another materialized id; return its file."""
    file = with_base(path, base_row_id)
    set_materialized(path, file, {position: row_id})
    return file


def _ids(path: Path, base_row_id: int) -> list[int | None]:
    found = files.materialized(path, with_base(path, base_row_id))
    assert found is not None
    return found
