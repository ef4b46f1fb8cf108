"""The options of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.audit.ownership import Ownership
from airflow_delta_provider.domain.audit.waivers import Waivers
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.request.check_row_tracking import LEVELS
from airflow_delta_provider.domain.request.names import Names
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import SavesState
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Choice, Entries, Seconds, Time, Version
from airflow_delta_provider.domain.suggestion import did_you_mean


class RuleCodes(Names):
    """A list of rule codes."""

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        codes = super().checked(option, value)
        for code in codes:
            if code not in RULES:
                raise RequestError(
                    "{option} names {code!r}, which is not a rule.{hint} `delta-provider rules` lists all.",
                    option=option,
                    code=code,
                    hint=did_you_mean(code, RULES),
                )
        return codes


def _waivers(entries: Sequence[Any]) -> list[dict[str, str]]:
    Waivers.parse(entries)
    return [{name: str(value) for name, value in entry.items()} for entry in entries]  # YAML may contain dates


def _owned(entries: Sequence[Any]) -> Sequence[Any]:
    for entry in entries:
        Ownership.parse(entry)
    return entries


@dataclass(frozen=True, kw_only=True)
class AuditOptions(SavesState):
    """Options to check a table's full history against the Delta protocol."""

    kind: ClassVar[str] = "audit"
    takes_patterns: ClassVar[bool] = True
    selecting: ClassVar[tuple[str, ...]] = ("since_version", "version", "timestamp", "rules")

    level: str = option(
        Choice(LEVELS),
        "how deep to look: log (default); footers = also Parquet footers; data = also rows: their ids and constraints",
        default="log",
    )
    since_version: int | None = option(Version(), "check only the commits after this version", metavar="VERSION")
    version: int | None = option(
        Version(), "check the history up to this version (default: the newest)", metavar="VERSION"
    )
    timestamp: str | None = option(Time(), "check the history up to this time (ISO 8601)", metavar="TIME")
    rules: tuple[str, ...] = option(
        RuleCodes(), "rule to apply, by its code (default: all)", flag="--rule", metavar="CODE"
    )
    fail_on: str = option(
        Choice(("error", "warning")), "lowest severity that counts as a violation (default: error)", default="error"
    )
    waivers: tuple[Mapping[str, Any], ...] = option(
        Entries(_waivers), "accepted findings, a YAML or JSON file", metavar="FILE"
    )
    ownership: tuple[Mapping[str, Any], ...] = option(
        Entries(_owned),
        "table owners and per-rule severity overrides, a YAML or JSON file of entries with table, owner, severities",
        flag="--owners",
        metavar="FILE",
        argument="tables",
    )
    seconds_per_table: float | None = option(
        Seconds(), "time limit per table; findings up to then are reported", metavar="SECONDS", templated=False
    )

    @property
    def needs_rows(self) -> bool:
        """True at level ``data``, which reads rows and so needs Spark."""
        return self.level == "data"

    @property
    def overlaps(self) -> bool:
        """True if several tables may be processed at once: at level ``log``, which does not use Spark."""
        return self.level == "log"

    def check(self) -> None:
        """Check that the versions form one range."""
        since, until = self.since_version, self.version
        if since is not None and until is not None and since > until:
            raise RequestError(
                "{since_version} is {since}, which is after {version} {until}. Give an earlier one.",
                since=since,
                until=until,
            )
        if until is not None and self.timestamp is not None:
            raise RequestError(
                "{version} is {until} and {timestamp} {time!r}. Give only one of them.",
                until=until,
                time=self.timestamp,
            )
        super().check()
