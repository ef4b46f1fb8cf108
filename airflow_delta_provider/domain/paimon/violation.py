"""A rule that a commit broke, and for how long it stays broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.report.verdict import Severity

#: Names that a message lists.
_NAMED = 3


@dataclass(frozen=True)
class Violation:
    """A rule that was broken.

    :param groups: files; it is healed as soon as none of the groups is live as a whole. Without any, it stays
    :param inherited: whether rows of these files take it along into the files that they are moved to
    :param severity: where it is another than the rule's
    """

    rule: Rule
    message: str
    groups: Sequence[frozenset[FileKey]] = ()
    path: str | None = None
    subject: str | None = None
    severity: Severity | None = None
    inherited: bool = False

    @classmethod
    def of_files(
        cls,
        rule: Rule,
        message: str,
        files: Iterable[DataFile],
        severity: Severity | None = None,
        *,
        inherited: bool = False,
    ) -> Violation:
        """A violation that each of the files keeps up."""
        files = tuple(files)
        path = files[0].name if len(files) == 1 else None
        groups = tuple(frozenset((file.key,)) for file in files)
        return cls(rule, message, groups, path, severity=severity, inherited=inherited)


def listed(texts: Iterable[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    texts = list(texts)
    more = len(texts) - _NAMED
    return ", ".join(texts[:_NAMED]) + (f" and {more} more" if more > 0 else "")
