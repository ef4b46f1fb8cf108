"""The request of a job: the file that a submission carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from airflow_delta_provider.domain.errors import RequestError, check_text
from airflow_delta_provider.domain.report.confirmation import Receipts
from airflow_delta_provider.domain.request.kinds import kind_named, load
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import is_catalog_name

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class JobRequest:
    """The task of a job.

    :param tables: tables as the user named them, without duplicates
    :param dry_run: True to plan and report without changing anything
    :param labels: labels for the ``userMetadata`` of every commit, for instance ``dag_id`` and ``run_id``
    :param allowed_locations: locations and catalog prefixes that the job may reach; empty for all
    :param receipt: id of this submission, which a later request uses to confirm that the report was received. None if
        no request will: then the report counts as received at once
    :param received: receipts that are confirmed, see ``domain/report/confirmation.py``
    :param retry_since: start of the task run, ISO 8601, if it may have had an earlier attempt. Commits of that attempt
        under the same labels count as made by this one
    :param exclude: patterns of tables that the patterns in ``tables`` leave out
    :param attempt: id of the task's try, under which findings are recorded; None outside Airflow
    :param try_number: number of that try; None outside Airflow
    """

    tables: tuple[str, ...]
    options: Options
    _: KW_ONLY
    dry_run: bool = False
    labels: Mapping[str, Any] = field(default_factory=dict)
    allowed_locations: tuple[str, ...] = ()
    receipt: str | None = None
    received: Receipts = field(default_factory=dict)
    retry_since: str | None = None
    exclude: tuple[str, ...] = ()
    attempt: str | None = None
    try_number: int | None = None

    def __post_init__(self) -> None:
        for table in self.tables:
            if not isinstance(table, str) or not table:
                raise RequestError(
                    "{table!r} does not name a table. Give a path, a URI or a catalog name.{hint}",
                    table=table,
                    hint=" If it comes from XCom, the upstream task returned nothing." if table is None else "",
                )
        object.__setattr__(self, "tables", tuple(dict.fromkeys(self.tables)))
        self.options.check_tables(self.tables)
        if not self.tables:
            raise RequestError("{tables} is empty. Name at least one table.")
        check_text("a table", self.tables)
        for option, value in self.options.to_json().items():
            check_text(option, value)
        check_text("a label", self.labels)
        check_text("exclude", self.exclude)

    @property
    def kind(self) -> str:
        return self.options.kind

    @property
    def may_need_delta(self) -> bool:
        """True if the job may need Delta on Spark's classpath: for options, a catalog name, or a table of findings."""
        return self.options.findings_table is not None or self.options.needs_delta(
            by_name=any(map(is_catalog_name, self.tables))
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "tables": list(self.tables),
            "options": self.options.to_json(),
            "dry_run": self.dry_run,
            "labels": dict(self.labels),
            "allowed_locations": list(self.allowed_locations),
            "receipt": self.receipt,
            "received": dict(self.received),
            "retry_since": self.retry_since,
            "exclude": list(self.exclude),
            "attempt": self.attempt,
            "try_number": self.try_number,
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> JobRequest:
        """Read the wire form.

        :raises RequestError: if it is of another schema version or not valid
        """
        if wire.get("schema_version") != SCHEMA_VERSION:
            raise RequestError(
                "The request has schema version {found!r}, not {known}.",
                found=wire.get("schema_version"),
                known=SCHEMA_VERSION,
            )
        for key, expected in (("kind", str), ("tables", list), ("options", dict)):
            if not isinstance(wire.get(key), expected):
                raise RequestError("The request's {key!r} is {value!r}.", key=key, value=wire.get(key))
        return cls(
            tuple(wire["tables"]),
            load(kind_named(wire["kind"]).options).from_json(wire["options"]),
            dry_run=bool(wire.get("dry_run", False)),
            labels=dict(wire.get("labels", {})),
            allowed_locations=tuple(wire.get("allowed_locations", ())),
            receipt=wire.get("receipt"),
            received=dict(wire.get("received", {})),
            retry_since=wire.get("retry_since"),
            exclude=tuple(wire.get("exclude", ())),
            attempt=wire.get("attempt"),
            try_number=wire.get("try_number"),
        )
