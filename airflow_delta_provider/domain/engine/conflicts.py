"""Error classes by which the libraries of table formats report that another writer was faster."""

from __future__ import annotations

#: Another writer changed what the statement was planned on: plan again.
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
