"""The number of rows that snapshots record, against their live files: PM11."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.live_files import LiveFiles
from airflow_delta_provider.domain.paimon.open_violations import OpenViolation, OpenViolations
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.violation import Violation


class RecordCounts:
    """The counts of one snapshot after the other. A wrong one is a violation of the commit that made it so."""

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._open: list[OpenViolation] = []
        self._excess = 0

    def start_from(self, snapshot: Snapshot, live: LiveFiles) -> None:
        """Take the count of a snapshot as it is."""
        self._excess = _excess(snapshot, live)

    def check(self, snapshot: Snapshot, live: LiveFiles, **known: Any) -> None:
        """Check the count of a snapshot.

        :param live: its live files
        :param known: fields of the finding
        """
        excess = _excess(snapshot, live)
        if excess == self._excess:
            return
        self._excess = excess
        if not excess:
            for opened in self._open:
                opened.heal(snapshot)
            self._open = []
            return
        finding = rules.RECORD_COUNT.found(
            "totalRecordCount is {recorded}; the live files have {rows:row}.",
            recorded=snapshot.total_record_count,
            rows=(snapshot.total_record_count or 0) - excess,
        )
        self._open.append(self._open_violations.add(Violation(finding), snapshot, **known))


def _excess(snapshot: Snapshot, live: LiveFiles) -> int:
    """Return by how much totalRecordCount exceeds the rows of live files."""
    total, counts = snapshot.total_record_count, live.row_counts
    return 0 if total is None or total in counts else total - counts[0]
