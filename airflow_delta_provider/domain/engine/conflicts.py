"""Error classes of table format libraries for a commit that another writer preceded."""

from __future__ import annotations

#: Another writer changed the metadata or protocol that the statement was planned with: plan again.
METADATA_CONFLICTS = frozenset({"DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED"})
#: Another writer changed only files: the same statement may run again.
FILE_CONFLICTS = frozenset(
    {
        "DELTA_CONCURRENT_APPEND",
        "DELTA_CONCURRENT_DELETE_DELETE",
        "DELTA_CONCURRENT_DELETE_READ",
        "DELTA_CONCURRENT_TRANSACTION",
        "DELTA_CONCURRENT_WRITE",
    }
)
