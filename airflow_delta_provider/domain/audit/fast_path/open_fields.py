"""The fields that patterns leave open, and the rules whose checks are repeated for them.

A check is skipped on lines and commits that match a pattern if it declares the fields that it reads, and if the pattern
fixes each of these fields or has a counterpart for it, which repeats the check. Otherwise, patterns fix the field as
well. A check that declares nothing may read everything: nothing is left open, and so nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from airflow_delta_provider.domain.checks.actions import (
    commit_info,
    deletion_vectors,
    fields,
    files,
    partition_values,
    statistics,
)
from airflow_delta_provider.domain.checks.check import (
    Declared,
    Fields,
    on_action,
    on_commit,
    on_file,
    on_tracked,
    on_transition,
)
from airflow_delta_provider.domain.checks.column_mapping import names
from airflow_delta_provider.domain.checks.log import duplicate_files
from airflow_delta_provider.domain.checks.metadata import changes, domains, guards, identity
from airflow_delta_provider.domain.checks.protocol import iceberg_compat
from airflow_delta_provider.domain.checks.row_tracking import commits, history, live_files
from airflow_delta_provider.domain.checks.rule import Rule


def _of(kind: str, *fields: str) -> frozenset[str]:
    return frozenset(f"{kind}.{field}" for field in fields)


_FILE = ("path", "partitionValues", "size", "stats", "tags", "deletionVector", "baseRowId", "defaultRowCommitVersion")
_IN_COMMIT_TIMESTAMP = _of("commitInfo", "inCommitTimestamp")
_TIMES = _of("commitInfo", "timestamp") | _IN_COMMIT_TIMESTAMP
_PARAMETERS = _of("commitInfo", "operationParameters")
#: Fields that may differ from line to line.
_OF_LINES = (
    _of("add", *_FILE, "modificationTime", "deletionTimestamp")
    | _of("remove", *_FILE, "modificationTime", "deletionTimestamp")
    | _of("txn", "version", "lastUpdated")
    | _of("domainMetadata", "configuration")
)
#: Fields of ``commitInfo`` that may differ from commit to commit.
_OF_INFO = _TIMES | _PARAMETERS | _of("commitInfo", "readVersion", "txnId", "userMetadata", "operationMetrics")
#: Facts about a commit that are in no single action.
_AROUND = frozenset({"version", "files", "previous", "past"})
#: Everything that may differ between a line and another one of its pattern.
_OPEN_IN_LINES = _OF_LINES | _AROUND | {"commitInfo"}
#: Everything that may differ between a commit and another one of its pattern, such as the number of its files.
_OPEN_IN_COMMITS = _OF_INFO | _AROUND | {"add", "remove", "txn", "domainMetadata"}


class Counterpart(NamedTuple):
    """A condition of the fast path that repeats checks.

    :param rules: rules of the checks, which find nothing if the condition holds
    :param fields: the fields that it compares for them
    """

    rules: Collection[Rule]
    fields: Fields


#: Conditions for single actions: ``patterns.py``.
_IN_LINES = (
    # An open value keeps its type, and a path is a URI.
    Counterpart((fields.WRONG_FIELD, fields.OF_CHECKPOINTS), _OF_LINES),
    # An earlier file had the same partition values. The file is in the table's directory.
    Counterpart(
        (
            partition_values.NO_PARTITION_VALUES,
            partition_values.WRONG_PARTITION_VALUE,
            partition_values.AMBIGUOUS_PARTITION_VALUE,
            partition_values.OTHER_PARTITION_VALUES,
        ),
        _of("add", "path", "partitionValues") | _of("remove", "path", "partitionValues"),
    ),
    # The names are those of an earlier file, which was new and written by the table's own engines.
    Counterpart(
        (names.PARTITION_VALUES, names.STATISTICS),
        _of("add", "path", "partitionValues", "stats") | {"files", "past", "commitInfo.operation"},
    ),
    # Bounds keep their types and are in order, and no count is above the number of rows.
    Counterpart(
        (
            statistics.MALFORMED_STATISTICS,
            statistics.CONTRADICTORY_STATISTICS,
            statistics.ROUNDED_BOUNDS,
            domains.NO_STATISTICS,
        ),
        _of("add", "path", "stats") | {"commitInfo", "domainMetadata", "files"},
    ),
)

#: Conditions for commits.
_IN_COMMITS = (
    # New files are added and live ones removed, or live ones get other deletion vectors, which are sound: `change_by`.
    # `LiveFileTracker.may_be_live` leaves commits to the checks whose files may be live under another key.
    Counterpart(
        (
            duplicate_files.FILE_TWICE,
            duplicate_files.TWO_DELETION_VECTORS,
            files.REMOVED_FROM_APPEND_ONLY,
            files.ROWS_NOT_KEPT,
            files.REMOVED_NOT_LIVE,
            files.FILE_OVERWRITTEN,
            files.ROWS_CHANGED,
            files.HIDDEN_FILE,
            files.LIVE_UNDER_TWO_PATHS,
            files.NO_CHANGE_DATA,
            deletion_vectors.DELETION_VECTOR_WITHOUT_FEATURE,
            deletion_vectors.WRONG_CARDINALITY,
            deletion_vectors.VECTOR_NOT_ENABLED,
            deletion_vectors.BROKEN_VECTOR,
            changes.WRITTEN_WITHOUT_COLUMNS,
            iceberg_compat.NO_ROW_COUNT,
        ),
        _of("add", "path", "size", "stats", "deletionVector", "dataChange")
        | _of("remove", "path", "deletionVector", "dataChange")
        | {"files"},
    ),
    # Every other line matches a pattern: there is no action of the kinds protocol, metaData and cdc, and no domain
    # except that of row tracking. `effect_of` allows one transaction identifier.
    Counterpart(
        (
            fields.DOMAIN_TWICE,
            fields.TRANSACTION_TWICE,
            fields.DOMAIN_WITHOUT_FEATURE,
            domains.DOMAIN_OF_MISSING_FEATURE,
            domains.CLUSTERING_LOST,
            domains.OTHER_IMAGE,
            domains.NEW_WITHOUT_STATISTICS,
            guards.GUARD_LOST,
        ),
        _PARAMETERS | _of("add", "path", "stats") | {"domainMetadata", "txn.appId", "files", "past"},
    ),
    # The transaction id is not empty, and `InfoPattern` takes no overwrite by a predicate.
    Counterpart((commit_info.NO_TRANSACTION_ID,), _of("commitInfo", "txnId")),
    Counterpart(
        (partition_values.OTHER_PARTITION_WRITTEN,),
        _PARAMETERS | _of("add", "path", "partitionValues", "dataChange") | {"files"},
    ),
    # The in-commit timestamp is later than the one before it: `FastPath`.
    Counterpart(
        (
            commit_info.NO_TIMESTAMP,
            commit_info.TIMESTAMP_NOT_LATER,
            commit_info.NO_ENABLEMENT,
        ),
        _TIMES | {"version", "previous"},
    ),
    # Tables with identity columns have no routine commits: `FastPath`.
    Counterpart(
        (identity.PAST_MARK, identity.ASSIGNED_AGAIN),
        _of("add", "path", "stats", "dataChange") | {"remove", "files"},
    ),
    # Row ids follow each other and the mark, and files are removed with the ids that they had.
    Counterpart(
        (
            commits.ADDED_WITHOUT_ROW_IDS,
            commits.REASSIGNED_BASE,
            commits.REISSUED_ROW_IDS,
            commits.OTHER_COMMIT_VERSION,
            commits.MATERIALIZED_NAMES_CHANGED,
            commits.NOT_PRESERVED,
            commits.ASSIGNED_WHILE_SUSPENDED,
            history.HIGH_WATER_MARK_LOWERED,
            history.REMOVED_WITH_OTHER_BASE,
            live_files.MISSING_ROW_IDS,
            live_files.ABOVE_HIGH_WATER_MARK,
            live_files.OVERLAPPING_ROW_IDS,
            live_files.COMMIT_VERSION_IN_FUTURE,
        ),
        _of("add", "path", "stats", "deletionVector", "dataChange", "baseRowId", "defaultRowCommitVersion")
        | _of("remove", "path", "dataChange", "baseRowId", "defaultRowCommitVersion")
        | {"domainMetadata", "version", "files", "past"},
    ),
)


class OpenFields(NamedTuple):
    """The fields that patterns may leave open under the present checks.

    :param in_lines: fields of actions
    :param in_info: fields of ``commitInfo``
    :param commits: True if commits of a pattern need no checks
    """

    in_lines: frozenset[str]
    in_info: frozenset[str]
    commits: bool


NOTHING_OPEN = OpenFields(frozenset(), frozenset(), commits=False)


def open_fields() -> OpenFields:
    """Return the fields that patterns may leave open, according to the declarations of all checks."""
    return _open_fields(
        (*on_action.declared, *on_file.declared),
        (*on_commit.declared, *on_transition.declared, *on_tracked.declared),
    )


@lru_cache(maxsize=4)
def _open_fields(of_lines: tuple[Declared, ...], of_commits: tuple[Declared, ...]) -> OpenFields:
    in_lines = _uncovered(of_lines, _OPEN_IN_LINES, _IN_LINES)
    in_commits = _uncovered(of_commits, _OPEN_IN_COMMITS, _IN_COMMITS)
    lines = in_lines <= _OF_LINES
    # The timestamp is compared with the one before it, so it cannot be fixed.
    return OpenFields(
        _OF_LINES - in_lines if lines else frozenset(),
        _OF_INFO - in_commits,
        lines and in_commits <= _OF_INFO - _IN_COMMIT_TIMESTAMP,
    )


def _uncovered(
    checks: Iterable[Declared], open_names: frozenset[str], counterparts: Iterable[Counterpart]
) -> frozenset[str]:
    """Return the open fields that a check may read without a counterpart."""
    compared: dict[Rule, set[str]] = {}
    for rules, of_rules in counterparts:
        for rule in rules:
            compared.setdefault(rule, set()).update(of_rules)
    found: set[str] = set()
    for _, rules, reads in checks:
        if reads is None:
            return open_names
        for field in reads:
            if not all(any(is_within(field, name) for name in compared.get(rule, ())) for rule in rules):
                found.update(name for name in open_names if is_within(field, name) or is_within(name, field))
    return frozenset(found)


def is_within(field: str, other: str) -> bool:
    """Return True if a field is another one or a part of it, as ``add.path`` is of ``add``."""
    return field == other or field.startswith(f"{other}.")
