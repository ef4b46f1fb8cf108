"""Dropping usage tracking from a table's protocol, which no SQL can do.

Column mapping stays as it is, with its ids and physical names: no data file is changed.
"""

from __future__ import annotations

from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.protocol import weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED


def dropping_edit(base: CommitBase) -> Edit:
    """Return the commit that drops the feature and its property."""
    return Edit(
        "DROP FEATURE",
        {"featureName": USAGE_TRACKING.name},
        protocol=weakest_protocol(base.state.protocol.features - {USAGE_TRACKING.name}),
        unset_properties=(DROPPED_OR_RENAMED,),
    )
