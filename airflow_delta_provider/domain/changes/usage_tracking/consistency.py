"""Whether a table says of its usage tracking what means something: before anything relies on it, or changes it."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def is_tracked(state: TableState) -> bool:
    """Whether the table has usage tracking, so that no engine writes to it."""
    return state.protocol.supports(USAGE_TRACKING)


def check_property(table: str, state: TableState) -> Iterator[Finding]:
    """Yield a refusal where a table has the property without the feature, or the reverse."""
    value = state.metadata.properties.dropped_or_renamed
    if is_tracked(state):
        if value not in ("true", "false"):
            yield requests.TRACKING_INCOMPLETE.finding(
                f"{table} has the feature {USAGE_TRACKING}, but {DROPPED_OR_RENAMED} is "
                f"{'missing' if value is None else repr(value)}: whether a column was ever dropped or renamed is not "
                "known, and nothing may rely on it. Drop the feature, and enable it again."
            )
    elif value is not None:
        yield requests.TRACKING_INCOMPLETE.finding(
            f"{table} has {DROPPED_OR_RENAMED} = {value!r}, but not the feature {USAGE_TRACKING}: engines dropped and "
            "renamed columns without setting it, so that it says nothing. Unset it first: ALTER TABLE … UNSET "
            f"TBLPROPERTIES ('{DROPPED_OR_RENAMED}')."
        )
