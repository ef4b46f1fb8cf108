"""Logs whose row tracking is damaged, one thing each, of tables that Delta wrote (``row_tracking.operations``).

A damage takes the path of a table of its own, cuts its history where it wants it, breaks one thing, and
returns the data files that a finding should name. What is about a state is followed by a commit without
an action, so that no rule about the newest commit has anything to say; what is about a commit is not.

The table by its bases, as of version 5: 0, 4, 8, 12 (four rows each; three of them with deletion vectors),
16 and 18 (the three rows of the UPDATE, materialized), 19 (three rows of the MERGE, one materialized, one
deleted). As of 6: one file of fifteen rows at 22, all materialized. The high water mark is the last of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tables import log
from tests.tables.log import Action
from tests.tables.row_tracking_files import COMMIT_VERSION, ID
from tests.tables.row_tracking_history import (
    as_of,
    edit,
    edit_file,
    edit_last,
    set_mark,
    set_property,
    settled,
    with_base,
)

Files = list[str]

# -- what the log says of the table ---------------------------------------------------------------


def feature_missing(path: Path) -> Files:
    settled(path, 2)

    def change(body: Action) -> Action:
        return {**body, "writerFeatures": [name for name in body["writerFeatures"] if name != "rowTracking"]}

    edit_last(path, "protocol", change)
    return []


def suspended_as_well(path: Path) -> Files:
    settled(path, 5)
    set_property(path, delta__rowTrackingSuspended="true")
    return []


def names_missing(path: Path) -> Files:
    settled(path, 6)
    set_property(path, **{ID.replace(".", "__"): None, COMMIT_VERSION.replace(".", "__"): None})
    return []


def id_name_missing(path: Path) -> Files:
    settled(path, 6)
    set_property(path, **{ID.replace(".", "__"): None})
    return []


def commit_version_name_missing(path: Path) -> Files:
    settled(path, 6)
    set_property(path, **{COMMIT_VERSION.replace(".", "__"): None})
    return []


def name_of_a_column(path: Path) -> Files:
    settled(path, 2)
    set_property(path, **{ID.replace(".", "__"): "id"})
    return []


def name_of_a_column_in_another_case(path: Path) -> Files:
    settled(path, 2)
    set_property(path, **{COMMIT_VERSION.replace(".", "__"): "ID"})
    return []


def names_of_each_other(path: Path) -> Files:
    settled(path, 2)
    set_property(path, **{COMMIT_VERSION.replace(".", "__"): log.configuration(path)[ID]})
    return []


def no_base(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    edit_file(path, file, baseRowId=None)
    return [file]


def no_commit_version(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    edit_file(path, file, defaultRowCommitVersion=None)
    return [file]


def no_base_where_ids_are_materialized(path: Path) -> Files:
    """A file of which one id of two live rows is null, so that nobody can tell it."""
    settled(path, 5)
    file = with_base(path, 19)
    edit_file(path, file, baseRowId=None)
    return [file]


def mark_too_low(path: Path) -> Files:
    settled(path, 2)
    set_mark(path, 14)
    return [with_base(path, 12)]


def base_above_mark(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    edit_file(path, file, baseRowId=13)
    return [file]


def mark_too_low_under_a_deletion_vector(path: Path) -> Files:
    """The id above the mark is that of a deleted row: it was given out all the same."""
    settled(path, 5)
    set_mark(path, 20)
    return [with_base(path, 19)]


def ranges_overlap(path: Path) -> Files:
    settled(path, 2)
    file, other = with_base(path, 12), with_base(path, 8)
    edit_file(path, file, baseRowId=11)
    return [file, other]


def ranges_equal(path: Path) -> Files:
    settled(path, 2)
    file, other = with_base(path, 12), with_base(path, 0)
    edit_file(path, file, baseRowId=0)
    return [file, other]


def range_within_another(path: Path) -> Files:
    """One row of the UPDATE at 18; a file of two files of four before it ends, with others between."""
    settled(path, 5)
    file, other = with_base(path, 18), with_base(path, 8)
    edit_file(path, file, baseRowId=9)
    return [file, other]


def commit_version_in_future(path: Path) -> Files:
    settled(path, 2)
    file = with_base(path, 12)
    edit_file(path, file, defaultRowCommitVersion=4)  # the table is at 3
    return [file]


def mark_misnamed(path: Path) -> Files:
    settled(path, 2)
    edit_last(path, "domainMetadata", lambda body: {**body, "configuration": '{"highWaterMark":15}'})
    return []


def mark_null(path: Path) -> Files:
    settled(path, 2)
    set_mark(path, None)
    return []


def mark_a_text(path: Path) -> Files:
    settled(path, 2)
    set_mark(path, "15")
    return []


def mark_no_json(path: Path) -> Files:
    settled(path, 2)
    edit_last(path, "domainMetadata", lambda body: {**body, "configuration": "{"})
    return []


def domain_missing(path: Path) -> Files:
    settled(path, 5)
    edit(path, lambda kind, body: None if kind == "domainMetadata" else body)
    return []


def domain_removed(path: Path) -> Files:
    settled(path, 2)
    log.commit(
        path,
        {"commitInfo": {"operation": "DROP FEATURE"}},
        {"domainMetadata": {**log.last(path, "domainMetadata"), "removed": True}},
    )
    return []


# -- what the newest commit does ------------------------------------------------------------------


def added_without_ids(path: Path) -> Files:
    """On a table on which row tracking is supported only, for which the enabling property is taken away."""
    as_of(path, 2)
    file = with_base(path, 12)
    set_property(path, delta__enableRowTracking="false")
    edit_file(path, file, baseRowId=None, defaultRowCommitVersion=None)
    return [file]


def added_again_with_another_base(path: Path) -> Files:
    """The DELETE's commit moves a file to ids far above, for which the mark had room."""
    as_of(path, 5)
    set_mark(path, 100)
    file = with_base(path, 0)
    _edit_add(path, file, 5, baseRowId=50)
    return [file]


def added_again_with_another_commit_version(path: Path) -> Files:
    as_of(path, 5)
    file = with_base(path, 0)
    _edit_add(path, file, 5, defaultRowCommitVersion=2)
    return [file]


def added_again_without_base(path: Path) -> Files:
    """Row tracking is enabled: RT05 says it."""
    as_of(path, 5)
    file = with_base(path, 0)
    _edit_add(path, file, 5, baseRowId=None)
    return [file]


def ids_given_out_again(path: Path) -> Files:
    """The mark had been 12 before the commit that gives out 12: reserved, or of rows that are gone."""
    as_of(path, 2)
    set_mark(path, 12, version=1)
    return [with_base(path, 12)]


def commit_version_of_another_commit(path: Path) -> Files:
    as_of(path, 2)
    file = with_base(path, 12)
    edit_file(path, file, defaultRowCommitVersion=1)
    return [file]


def names_changed(path: Path) -> Files:
    as_of(path, 6)
    metadata = log.last(path, "metaData")
    renamed = {ID: "_row-id-col-other", COMMIT_VERSION: "_row-commit-version-col-other"}
    log.commit(
        path,
        {"commitInfo": {"operation": "SET TBLPROPERTIES"}},
        {"metaData": {**metadata, "configuration": {**metadata["configuration"], **renamed}}},
    )
    return []


def not_preserved(path: Path, *, version: int, preserved: str | None) -> Files:
    """The tag of an UPDATE (3), MERGE (4), DELETE (5) or OPTIMIZE (6) is false, or is not there."""
    as_of(path, version)
    key = "delta.rowTracking.preserved"

    def change(body: Action) -> Action:
        tags = {**body["tags"], key: preserved}
        return {**body, "tags": {name: value for name, value in tags.items() if value is not None}}

    edit_last(path, "commitInfo", change)
    return []


def _edit_add(path: Path, data_file: str, version: int, **fields: Any) -> None:
    def change(kind: str, body: Action) -> Action:
        if kind != "add" or body["path"] != data_file:
            return body
        return {key: value for key, value in {**body, **fields}.items() if value is not None}

    assert edit(path, change, version=version) == 1
