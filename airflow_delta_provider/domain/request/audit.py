"""What an audit may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.audit.ownership import Ownership, OwnershipError
from airflow_delta_provider.domain.audit.waivers import WaiverError, Waivers
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.request.arguments import RequestError, names, time_or_none, version_or_none
from airflow_delta_provider.domain.request.check_row_tracking import LEVELS
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.suggestion import did_you_mean

#: From which severity on a finding makes a table VIOLATED.
FAIL_ON = ("error", "warning")


@dataclass(frozen=True, kw_only=True)
class AuditOptions(ReadsFiles):
    """Judge the history of a table by every rule.

    :param level: ``log`` applies the rules of the log; ``footers`` also reads the footers of data
        files; ``data`` also row ids
    :param since_version: judge the commits after this version only
    :param version: judge the history up to this version, by default the newest
    :param timestamp: or up to the newest version that is not later than this time, ISO 8601
    :param rules: codes of the rules to apply, by default all
    :param fail_on: ``error``, or ``warning``: whether warnings make a table VIOLATED, too
    :param waivers: findings that are accepted, see :class:`~airflow_delta_provider.domain.audit.waivers.Waivers`
    :param state_path: directory where audits remember, a file a table, what they have seen
    :param ownership: whose tables are, and how much rules weigh there, see
        :class:`~airflow_delta_provider.domain.audit.ownership.Ownership`; the first that fits a table counts
    :param seconds_per_table: after which the audit of a table is given up
    """

    kind: ClassVar[str] = "audit"
    takes_patterns: ClassVar[bool] = True

    level: str = "log"
    since_version: int | None = None
    version: int | None = None
    timestamp: str | None = None
    rules: tuple[str, ...] = ()
    fail_on: str = "error"
    waivers: tuple[Mapping[str, Any], ...] = ()
    state_path: str | None = None
    ownership: tuple[Mapping[str, Any], ...] = ()
    seconds_per_table: float | None = None

    def __post_init__(self) -> None:
        for argument, known in (("level", LEVELS), ("fail_on", FAIL_ON)):
            value = getattr(self, argument)
            if value not in known:
                hint = did_you_mean(value, known) if isinstance(value, str) else ""
                raise RequestError(f"{argument} is {value!r}; it has to be one of {', '.join(known)}.{hint}")
        since = version_or_none("since_version", self.since_version)
        until = version_or_none("version", self.version)
        if since is not None and until is not None and since > until:
            raise RequestError(f"since_version is {since}, which is after version {until}. Give an earlier one.")
        if until is not None and self.timestamp is not None:
            raise RequestError(f"version is {until} and timestamp {self.timestamp!r}. Give one of them.")
        time_or_none("timestamp", self.timestamp)
        object.__setattr__(self, "rules", _codes(self.rules))
        if self.state_path is not None and (not isinstance(self.state_path, str) or not self.state_path):
            raise RequestError(f"state_path is {self.state_path!r}; it has to be a directory: a path or a URI.")
        for argument in ("since_version", "version", "timestamp", "rules"):
            value = getattr(self, argument)
            if self.state_path is not None and value not in (None, ()):
                raise RequestError(
                    f"state_path is {self.state_path!r} and {argument} {value!r}: an audit that remembers goes on "
                    f"where the last one ended, with all rules. Leave {argument} out."
                )
        try:
            Waivers.parse(self.waivers)
            for entry in self.ownership:
                Ownership.parse(entry)
        except WaiverError as error:
            raise RequestError(f"waivers: {error}") from error
        except OwnershipError as error:
            raise RequestError(f"tables: {error}.") from error
        object.__setattr__(self, "ownership", tuple(self.ownership))
        seconds = self.seconds_per_table
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0):
            raise RequestError(f"seconds_per_table is {seconds!r}; it has to be a number above 0.")
        texts = ({name: str(value) for name, value in entry.items()} for entry in self.waivers)  # YAML has dates
        object.__setattr__(self, "waivers", tuple(texts))


def _codes(given: Any) -> tuple[str, ...]:
    codes = names("rules", given)
    for code in codes:
        if code not in RULES:
            known = did_you_mean(code, RULES)
            raise RequestError(f"rules names {code!r}.{known} docs/reference/rules.md lists all codes.")
    return codes
