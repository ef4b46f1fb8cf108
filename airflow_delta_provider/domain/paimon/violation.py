"""A broken rule: the commit that broke it, and the files that keep it broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of names in the evidence.
_NAMED = 3


@dataclass(frozen=True)
class Violation:
    """A rule that was broken.

    :param finding: finding without the commit, which :class:`OpenViolations` adds
    :param groups: groups of files; it is healed as soon as no group is completely live. Without groups, it is never
        healed
    :param inherited: True if rows carry it into the files that they move to
    """

    finding: Finding
    groups: Sequence[frozenset[FileKey]] = ()
    inherited: bool = False

    @classmethod
    def of_files(
        cls, rule: Rule, evidence: str, files: Iterable[DataFile], /, *, inherited: bool = False, **facts: Any
    ) -> Violation:
        """Create a violation that each of the files keeps open.

        :param facts: see :meth:`Rule.found`
        """
        files = tuple(files)
        path = files[0].name if len(files) == 1 else None
        groups = tuple(frozenset((file.key,)) for file in files)
        return cls(rule.found(evidence, path=path, **facts), groups, inherited)


def listed(texts: Iterable[str]) -> str:
    """Return the first strings, and the number of others."""
    texts = list(texts)
    more = len(texts) - _NAMED
    return ", ".join(texts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def provenance(snapshot: Snapshot) -> dict[str, Any]:
    """Return the fields of a finding that identify the commit: its kind, operation, user and time."""
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
