"""``UT``: usage tracking of column mapping. RFC ``column-mapping-usage-tracking.md``, delta-io/delta#2682."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED

SPEC = "RFC Column Mapping Usage Tracking, Usage Tracking"
WRITERS = "RFC Column Mapping Usage Tracking, Writer Requirements for Usage Tracking"
THREAD = ("delta-io/delta#2682",)

FAMILY = RuleFamily(
    "UT",
    "usage tracking of column mapping",
    "Whether a table is right to state that no column was ever dropped or renamed. Writers rely on it when they "
    "store a new column under its own name, or remove the mapping without rewriting files. The feature "
    "`columnMappingUsageTracking` is proposed, not part of the protocol.",
    WRITERS,
    compares=True,
)

SET_TRUE = f"Set {DROPPED_OR_RENAMED} to true."
