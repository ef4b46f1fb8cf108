"""Operator that audits tables against their protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.config_file import Config
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.option import as_list
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import is_catalog_name
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import (
    DagFiles,
    Document,
    FailOn,
    Flag,
    Level,
    Names,
    Text,
    Version,
    file_of,
    names_file,
    read_config_file,
    read_entries,
)
from airflow_delta_provider.operators.delta_task import CheckArguments, DeltaCheckOperator

#: Options that the configuration file may set.
_CONFIGURED = ("level", "fail_on", "state_path", "findings_table")
_DEFAULTS = {"level": "log", "fail_on": "error"}


class DeltaAuditProtocolOperator(DeltaCheckOperator):
    """Check the full history of Delta tables against every rule of the protocol.

    Changes nothing, and names the commits that broke a rule. Reads the log itself, even for tables that an engine
    refuses to open. Violations fixed by a later commit are reported as resolved and do not affect the verdict.
    ``docs/reference/rules.md`` has all rules.

    :param tables: many tables, processed in one job, instead of ``table``: a list, or the path of a YAML file relative
        to the DAG's file. A path in the list may be a pattern (``"s3a://lake/sales/*"``). The YAML path, as written in
        the DAG, must end in ``.yaml`` or ``.yml``; a template in it cannot lead out of the folder of the DAGs. The file
        holds a list of names, or of entries with ``table``, ``owner`` and ``severities``, a mapping from codes of rules
        to ``error``, ``warning``, ``undecided`` or ``off``. (templated)
    :param schema: catalog schema whose Delta tables are all checked, instead of ``table`` and ``tables``. (templated)
    :param config: path of a ``delta-provider.toml``, relative to the DAG's file: the same file that the command line
        uses. It provides ``tables`` with their owners, ``exclude``, ``waivers``, ``state_path``, ``findings_table``,
        ``fail_on``, ``level`` and ``engine`` if these arguments are left out; its other keys belong to the command line
    :param exclude: patterns of tables to leave out. A pattern with a slash matches paths; another one matches the last
        part of a path, or a whole name. (templated)
    :param level: ``"log"`` applies the rules of the log; ``"footers"`` also reads the footers of data files; ``"data"``
        also reads rows, to check their ids and the constraints on them. (templated)
    :param since_version: version after which commits are checked. A template that renders to ``None`` leaves this out.
        (templated)
    :param version: last version to check, by default the newest. (templated)
    :param timestamp: end of the checked history, a datetime or ISO 8601. (templated)
    :param rules: codes of the rules to apply, by default all. (templated)
    :param fail_on: lowest severity that makes a table VIOLATED: ``"error"`` or ``"warning"``. (templated)
    :param waivers: accepted findings: a list of entries, or the path of a YAML file with one, as for ``tables``. An
        entry has ``code``, ``owner``, ``reason``, ``expires`` (a day), and any of ``table``, ``path``, ``column``
        (patterns) and ``fingerprint``. (templated)
    :param state_path: directory for incremental state, one small file per table: the next audit checks only new
        commits, and distinguishes new findings from known ones. (templated)
    :param seconds_per_table: time limit per table for checking commits and reading files. On timeout the table is
        UNDETERMINED, and the findings so far are kept
    :param fleet: engines that read and write the tables: those that misread a table are errors, for which a few footers
        are read, and findings about statistics of files name those that rely on them. A mapping, or the path of a YAML
        file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or ``.yml``. (templated)
    :param show_hidden_rows: True to count, with Delta Spark and ``deltalake``, the rows that queries lose by wrong
        statistics; needs level ``"data"``. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaCheckOperator`.
    """

    options_type = AuditOptions
    template_fields: Sequence[str] = (*DeltaCheckOperator.template_fields, *AuditOptions.templated(), "exclude")

    def __init__(
        self,
        *,
        schema: str | None = None,
        config: str | None = None,
        exclude: Names | None = None,
        level: Level | None = None,
        since_version: Version = None,
        version: Version = None,
        timestamp: datetime | Text | None = None,
        rules: Names | None = None,
        fail_on: FailOn | None = None,
        waivers: Sequence[Mapping[str, Any]] | Text | None = None,
        state_path: Text | None = None,
        seconds_per_table: float | None = None,
        fleet: Document = None,
        show_hidden_rows: Flag = False,
        **kwargs: Unpack[CheckArguments],
    ) -> None:
        if schema is not None:
            if kwargs.get("table") is not None or kwargs.get("tables") is not None:
                raise DeltaRequestError(f"{kwargs.get('task_id')}: pass exactly one of table, tables and schema.")
            kwargs["tables"] = [f"{schema}.*"]
        self.config = config
        #: The configuration file: read once while a DAG is parsed, and again for each request.
        self._read_config: Config | None = None
        super().__init__(**kwargs)
        self.schema = schema
        self.exclude = exclude
        self.level = level
        self.since_version = since_version
        self.version = version
        self.timestamp = timestamp
        self.rules = rules
        self.fail_on = fail_on
        self.waivers = waivers
        self.state_path = state_path
        self.seconds_per_table = seconds_per_table
        self.fleet = fleet
        self.show_hidden_rows = show_hidden_rows
        named = {"tables": self.tables, "waivers": waivers}
        self._listed = DagFiles({name: value for name, value in named.items() if names_file(value)})
        self.check_literals()

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments.

        :raises DeltaRequestError: if arguments are wrong, or name something outside the allowed locations
        """
        self._read_config = None
        return super().request(context)

    def given(self) -> dict[str, Any]:
        """Return the values of the options; ``waivers`` and ``tables`` may name a file.

        :raises RequestError: if a rendered string cannot be parsed
        """
        owned = tuple(entry for entry in self._owned_tables() if not isinstance(entry, str))
        waivers = tuple(self._entries("waivers", self.waivers or self._configured.waivers))
        return {**super().given(), "waivers": waivers, "ownership": owned}

    def argument(self, name: str) -> Any:
        """Return the value of an argument, or else the configuration file's value, or the default."""
        value = getattr(self, name)
        if value is None and name in _CONFIGURED:
            value = getattr(self._configured, name)
        return _DEFAULTS.get(name) if value is None else value

    @property
    def _configured(self) -> Config:
        """The content of the configuration file; empty if there is none."""
        if self.config is None:
            return Config()
        if self._read_config is None:
            self._read_config = read_config_file(file_of(self, "config", self.config, self._context, bounded=False))
        return self._read_config

    def _engine(self, options: Options, tables: Sequence[str]) -> str:
        wanted = self.engine or self._configured.engine or "spark"
        if wanted != "auto":
            return wanted
        if options.needs_rows or options.records_in_catalog or any(map(is_catalog_name, tables)):
            return "spark"
        return "python"

    def _names_tables_elsewhere(self) -> bool:
        return self.table is None and self.tables is None and bool(self._configured.tables)

    def _excluded(self) -> tuple[str, ...]:
        own = () if self.exclude is None else tuple(as_list("exclude", self.exclude))
        return (*own, *self._configured.exclude)

    def _tables(self) -> tuple[str, ...]:
        if self.tables is not None:
            return tuple(_name(entry) for entry in self._owned_tables())
        return super()._tables() if self.table is not None else self._configured.tables

    def _owned_tables(self) -> Sequence[Any]:
        """Return the entries of ``tables``: names, and mappings with the key ``table``."""
        if self.tables is None:
            return self._configured.ownership
        return self._entries("tables", self.tables)

    def _entries(self, argument: str, value: Any) -> Sequence[Any]:
        """Return the list of an argument, or of the YAML file that it names relative to the DAG's file."""
        if not names_file(value):
            return as_list(argument, value)
        return read_entries(argument, self._listed.path(self, argument, value, self._context))


def _name(entry: Any) -> str:
    return cast("str", entry["table"] if isinstance(entry, Mapping) and "table" in entry else entry)
