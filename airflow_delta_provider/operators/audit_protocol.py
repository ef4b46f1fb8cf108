"""Auditing the protocol of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import yaml

from airflow_delta_provider.domain.request.options import AuditOptions
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from airflow_delta_provider.operators.rendered import as_list, as_version


class DeltaAuditProtocolOperator(DeltaJobOperator):
    """
    Judge the whole history of Delta tables by every rule of the protocol, and name the commits that broke one.

    Changes nothing. Reads the log itself, not what an engine makes of it: also of tables that an engine
    refuses to open. A rule that a commit broke and a later one healed is told as such and does not count.
    ``docs/rules.md`` has all rules.

    :param level: ``"log"`` applies the rules of the log; ``"footers"`` also reads the footers of data
        files; ``"data"`` also row ids. (templated)
    :param since_version: judge only the commits after this version. A template that renders to
        ``None`` leaves this out. (templated)
    :param version: judge the history up to this version, by default the newest. (templated)
    :param timestamp: or up to the newest version not later than this, a datetime or ISO 8601. (templated)
    :param rules: codes of the rules to apply, by default all. (templated)
    :param fail_on: ``"error"``, or ``"warning"``: whether warnings make a table VIOLATED, too. (templated)
    :param waivers: findings that are accepted: a list of entries, or the path of a YAML file with one,
        relative to the DAG's file. An entry has ``code``, ``owner``, ``reason``, ``expires`` (a day), and
        any of ``table``, ``path``, ``column`` (patterns) and ``fingerprint``. (templated)
    :param state_path: directory where audits remember, one small file a table, what they have seen:
        the next one judges new commits only and tells new findings from known ones. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`.
    """

    kind: ClassVar[str] = AuditOptions.kind
    template_fields: Sequence[str] = (
        *DeltaJobOperator.template_fields,
        "level",
        "since_version",
        "version",
        "timestamp",
        "rules",
        "fail_on",
        "waivers",
        "state_path",
    )

    def __init__(
        self,
        *,
        level: str = "log",
        since_version: int | str | None = None,
        version: int | str | None = None,
        timestamp: datetime | str | None = None,
        rules: Sequence[str] | None = None,
        fail_on: str = "error",
        waivers: Sequence[Mapping[str, Any]] | str | None = None,
        state_path: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.level = level
        self.since_version = since_version
        self.version = version
        self.timestamp = timestamp
        self.rules = rules
        self.fail_on = fail_on
        self.waivers = waivers
        self.state_path = state_path
        entries = None if isinstance(waivers, str) else waivers
        self.check_literals(level, since_version, version, rules, fail_on, entries, state_path)

    def options(self) -> AuditOptions:
        """Return the options, from the rendered arguments."""
        return AuditOptions(
            self.level,
            as_version("since_version", self.since_version),
            as_version("version", self.version),
            _as_time(self.timestamp),
            tuple(as_list("rules", self.rules or ())),
            self.fail_on,
            tuple(self._waivers()),
            self.state_path or None,
        )

    def _waivers(self) -> Sequence[Any]:
        if not isinstance(self.waivers, str):
            return as_list("waivers", self.waivers or ())
        folder = Path(self.dag.fileloc).parent if self.has_dag() else Path()
        path = folder / self.waivers
        try:
            entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise DeltaRequestError(f"{self.task_id}: waivers: {path} cannot be read: {error}") from error
        return as_list("waivers", entries if entries is not None else ())


def _as_time(value: datetime | str | None) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return None if value in (None, "", "None") else value
