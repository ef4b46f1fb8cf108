"""Which commit a finding is about, by what its snapshot says."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.paimon.snapshot import Snapshot


def provenance(snapshot: Snapshot) -> dict[str, Any]:
    """Return the fields of a finding that identify the commit: its kind and operation, who made it, and when."""
    kind, operation = snapshot.commit_kind, snapshot.operation
    return {
        "version": snapshot.id,
        "operation": kind if operation is None else f"{operation} ({kind})",
        "user": snapshot.commit_user,
        "timestamp": _text(snapshot.time_millis),
        "engine": f"Apache Paimon {snapshot.writer_version}" if snapshot.writer_version else None,
    }


def _text(milliseconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None
