"""Live files with an earlier type of a column: while there are any, its type changes must stay recorded.

PROTOCOL.md, Writer Requirements for Type Widening: records may be removed once all data files have the types of the
schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from airflow_delta_provider.domain.audit.past_log import FirstAdd, PastLog
from airflow_delta_provider.domain.audit.violation import worded
from airflow_delta_provider.domain.checks.type_widening.changes import LOST_TYPE_CHANGES, changed_fields
from airflow_delta_provider.domain.checks.type_widening.type_record import records_of
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.column_mapping import physical_parts
from airflow_delta_provider.domain.delta.file_path import is_absolute
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

_UNKNOWN = " The log does not show whether a live file still has an earlier type; an audit at level 'footers' does."


class WrittenTypes:
    """The types of the live files after a commit, according to the schemas that they were first added under.

    :param live: paths of those files
    """

    def __init__(self, transition: Transition, live: Iterable[str], log: PastLog) -> None:
        self._transition = transition
        self._live = live
        self._log = log

    def weigh(self, finding: Finding) -> Finding | None:
        """Return a finding about the commit; None for lost type changes that no live file needs.

        The finding is undecided if the log does not show whether a live file needs them.
        """
        if finding.code != LOST_TYPE_CHANGES.code:
            return finding
        needed = _holds_other_types(finding.column, self._transition, self._added, known=self._knows_all)
        if needed is None:
            evidence = f"{finding.evidence}{_UNKNOWN}"
            return worded(replace(finding, severity=Severity.UNDECIDED, evidence=evidence))
        return finding if needed else None

    @property
    def _knows_all(self) -> bool:
        return len(self._added) == len(self._paths)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(self._live)

    @cached_property
    def _added(self) -> Mapping[str, FirstAdd]:
        return self._log.first_adds(self._transition.commit.version, self._paths)


def _holds_other_types(
    column: str | None, transition: Transition, added: Mapping[str, FirstAdd], *, known: bool
) -> bool | None:
    """Return True if a live file has another type; None if the log does not show it.

    :param known: whether ``added`` has all live files
    """
    by_schema: dict[str, list[Column] | None] = {}
    for path, first in added.items():
        schema_string = first.metadata.schema_string
        if schema_string not in by_schema:
            try:
                pairs = changed_fields(first.metadata, transition.after.metadata)
            except BrokenLogError:
                by_schema[schema_string] = None
            else:
                by_schema[schema_string] = [old for old, new in pairs if str(new) == column]
        others = by_schema[schema_string]
        if others and _has(first, others[0]):
            return True
        known = known and others == [] and not _may_be_older(path, first)
    return False if known else None


def _may_be_older(path: str, first: FirstAdd) -> bool:
    """Return True if a file may be older than the schema that it was first added under, like the files of a clone.

    It belongs to another table, or was added together with type changes that the table did not have before.
    """
    return is_absolute(path) or _records(first.metadata) != _records(first.before)


def _records(metadata: Metadata | None) -> list[object]:
    try:
        return [] if metadata is None else [record.changes for record in records_of(metadata)]
    except BrokenLogError:
        return []


def _has(first: FirstAdd, column: Column) -> bool:
    """Return True if the statistics of a file show values of a column."""
    try:
        stats = parse_json(first.stats or "")
        here = stats["minValues"]
        for name in physical_parts(column, first.metadata.schema, first.metadata.properties.mapping_mode):
            here = here[name]
    except (ValueError, KeyError, TypeError):
        return False
    return here is not None
