"""Until when a physical path that was used again stays wrong.

What that depends on besides the finding is kept as details, from which a later audit resumes.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_delta_provider.domain.checks.healing import Details, StillOpen
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Whether a violation is still open after a commit.
Holds = Callable[[Transition], bool]


def until_path_of_column_is_free(finding: Finding, state: TableState) -> StillOpen:
    """Until no column has the physical path that was another's.

    :param state: in which the column of the finding has it
    """
    try:
        fields = MappedSchema.of(state.metadata).fields
    except BrokenLogError:
        return StillOpen(lambda _: True, {"path": None})
    path = next((field.path for field in fields if str(field.column) == finding.column), None)
    details: Details = {"path": None if path is None else list(path)}
    return StillOpen(until_path_is_free(finding, details), details)


def until_path_is_free(finding: Finding, details: Details) -> Holds:
    """Until no column has the physical path of the details."""
    path = None if details["path"] is None else tuple(details["path"])

    def holds(later: Transition) -> bool:
        if path is None or not later.commit.metadata or later.commit.version <= (finding.version or 0):
            return True
        if later.replaces_all:
            return False
        try:
            schema = MappedSchema.of(later.after.metadata)
        except BrokenLogError:
            return True
        return schema.is_mapped and path in schema.by_path

    return holds
