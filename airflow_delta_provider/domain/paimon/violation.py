"""A rule that a commit broke: which commit, and for how long it stays broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.report.finding import Finding

#: Names that the evidence lists.
_NAMED = 3


@dataclass(frozen=True)
class Violation:
    """A rule that was broken.

    :param finding: without the commit, which :class:`OpenViolations` adds
    :param groups: files; it is healed as soon as none of the groups is live as a whole. Without any, it stays
    :param inherited: whether rows of these files take it along into the files that they are moved to
    """

    finding: Finding
    groups: Sequence[frozenset[FileKey]] = ()
    inherited: bool = False

    @classmethod
    def of_files(
        cls, rule: Rule, evidence: str, files: Iterable[DataFile], /, *, inherited: bool = False, **facts: Any
    ) -> Violation:
        """A violation that each of the files keeps up.

        :param facts: as in :meth:`Rule.found`
        """
        files = tuple(files)
        path = files[0].name if len(files) == 1 else None
        groups = tuple(frozenset((file.key,)) for file in files)
        return cls(rule.found(evidence, path=path, **facts), groups, inherited)


def listed(texts: Iterable[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    texts = list(texts)
    more = len(texts) - _NAMED
    return ", ".join(texts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


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
