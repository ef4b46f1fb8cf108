"""Options of the kinds that check tables."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_delta_provider.domain.audit.waivers import Ownership, Waivers
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import key_mark_of, mark_of
from airflow_delta_provider.domain.request.option import (
    Choice,
    Days,
    Document,
    Duration,
    Entries,
    Flag,
    Seconds,
    Time,
    Version,
    as_json,
    option,
)
from airflow_delta_provider.domain.request.options import (
    DistinctNames,
    FeatureNames,
    Names,
    ReadsFiles,
    RecordsFindings,
    SavesState,
    SqlTypes,
)
from airflow_delta_provider.domain.table_name import TableName, normal_location
from airflow_delta_provider.domain.text import did_you_mean

if TYPE_CHECKING:
    from airflow_delta_provider.domain.engine.fleet import Fleet, TableFleet
    from airflow_delta_provider.domain.engine.profile import FleetError

#: Levels of a check or an audit. Each level reads more than the one before it.
LEVELS = ("log", "footers", "data")


@dataclass(frozen=True, kw_only=True)
class CheckRowTrackingOptions(RecordsFindings):
    """Options to check that row ids are unique and stable."""

    kind: ClassVar[str] = "check-row-tracking"

    level: str = option(
        Choice(LEVELS),
        "level of checks: log; footers = also Parquet footers; data = also row ids (default)",
        default="data",
    )
    compare_to_version: int | None = option(
        Version(), "also check that rows kept their ids since this version", flag="--compare-to", metavar="VERSION"
    )
    key_columns: tuple[str, ...] = option(
        DistinctNames(),
        "column of a key: also check that keys kept their row ids; with --compare-to",
        flag="--key",
        metavar="COLUMN",
    )

    @property
    def needs_rows(self) -> bool:
        """True at level ``data``, which reads rows and so needs Spark."""
        return self.level == "data"

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return True if the job needs Delta on Spark's classpath.

        It does for names in a catalog, and to read the keys in the rows of each version.
        """
        return by_name or bool(self.key_columns)

    def check(self) -> None:
        """Check that the level reads the rows that a comparison needs."""
        version = self.compare_to_version
        if version is not None and self.level != "data":
            raise RequestError(
                "{compare_to_version} is {value} with {level} {given!r}, which reads no row ids. Use {level} 'data', "
                "or leave out {compare_to_version}.",
                value=version,
                given=self.level,
            )
        if self.key_columns and version is None:
            raise RequestError(
                "{key_columns} is {value!r} without {compare_to_version}. Give the version to compare the keys with, "
                "or leave out {key_columns}.",
                value=list(self.key_columns),
            )


@dataclass(frozen=True, kw_only=True)
class CheckRetentionOptions(ReadsFiles):
    """Options to find out which history is complete, and what a clean-up would delete."""

    kind: ClassVar[str] = "check-retention"
    takes_patterns: ClassVar[bool] = True

    level: str = option(
        Choice(("log", "files")),
        "level of checks: log (default); files = also list the table's folder",
        default="log",
    )
    vacuum_retain: str | None = option(
        Duration(),
        "retention of a planned VACUUM, such as 168h (default: the table's delta.deletedFileRetentionDuration)",
        metavar="TIME",
    )
    log_retain: str | None = option(
        Duration(),
        "retention of commits in a planned log clean-up (default: the table's delta.logRetentionDuration)",
        metavar="TIME",
    )
    consumers: tuple[str, ...] = option(
        Names(),
        "checkpoint folder of a Structured Streaming query that reads the table",
        flag="--consumer",
        metavar="FOLDER",
    )

    @property
    def overlaps(self) -> bool:
        """True: several tables may be processed at once."""
        return True

    @property
    def folders(self) -> tuple[tuple[str, str], ...]:
        """The checkpoint folders."""
        return tuple(("consumers", folder) for folder in self.consumers)


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


_NAMES = tuple({name: None for feature in FEATURES.values() for name in (feature.name, *feature.aliases)})


class FleetFile(Document):
    """The content of a fleet file."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content as plain JSON."""
        if value is None:
            return None
        from airflow_delta_provider.domain.engine.fleet import Fleet  # late: DAGs need no profiles of engines
        from airflow_delta_provider.domain.engine.profile import FleetError

        content = as_json(value)
        try:
            Fleet.parse(content, _NAMES)
        except FleetError as error:
            raise RequestError(
                "{option}: {place}{error}", option=option, place=_place(value, error), error=error
            ) from None
        return content


@dataclass(frozen=True, kw_only=True)
class AuditOptions(SavesState):
    """Options to check a table's full history against the Delta protocol."""

    kind: ClassVar[str] = "audit"
    takes_patterns: ClassVar[bool] = True
    selecting: ClassVar[tuple[str, ...]] = ("since_version", "version", "timestamp", "rules")

    level: str = option(
        Choice(LEVELS),
        "level of checks: log (default); footers = also Parquet footers; data = also rows: their ids and constraints",
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
    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "fleet file, YAML or JSON: engines in it that misread the table are errors, for which a few footers are read; "
        "findings about statistics of files name the engines that rely on them",
        metavar="FILE",
    )
    show_hidden_rows: bool = option(
        Flag(),
        "count the rows that queries lose by wrong statistics, with Delta Spark and the deltalake package that is "
        "installed; with --level data",
    )

    @property
    def needs_rows(self) -> bool:
        """True at level ``data``, which reads rows and so needs Spark."""
        return self.level == "data"

    @property
    def overlaps(self) -> bool:
        """True if several tables may be processed at once: at level ``log``, which does not use Spark."""
        return self.level == "log"

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return True if the job needs Delta on Spark's classpath: also to count the rows that queries lose."""
        return by_name or self.show_hidden_rows

    def check(self) -> None:
        """Check that the versions form one range, and that the level reads the rows that are to be counted."""
        if self.show_hidden_rows and self.level != "data":
            raise RequestError(
                "{show_hidden_rows} is set with {level} {given!r}, which reads no rows. Use {level} 'data', or leave "
                "out {show_hidden_rows}.",
                given=self.level,
            )
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


@dataclass(frozen=True, kw_only=True)
class PaimonCheckRowTrackingOptions(SavesState):
    """Options to check row tracking of Apache Paimon tables."""

    kind: ClassVar[str] = "check-paimon-row-tracking"
    selecting: ClassVar[tuple[str, ...]] = ("since_snapshot",)

    level: str = option(
        Choice(("metadata", "data")),
        "level of checks: metadata = snapshots, schemas and manifests (default); data = also the rows' ids",
        default="metadata",
    )
    since_snapshot: int | None = option(Version(), "check only the commits after this snapshot", metavar="ID")
    key_columns: tuple[str, ...] = option(
        Names(),
        "column of a key: also check that keys keep their row ids; with --level data",
        flag="--key",
        metavar="COLUMN",
    )
    source: str = option(
        Choice(("auto", "native", "catalog")),
        "native = read files; catalog = ask the table's Paimon catalog in Spark; auto (default) = native for paths, "
        "catalog for names",
        default="auto",
    )
    fail_on_reassigned: bool = option(Flag(), "count row ids that Paimon itself reassigned as an error")

    @property
    def needs_rows(self) -> bool:
        """True if the job reads rows or uses a catalog, and so needs Spark."""
        return self.level == "data" or self.source == "catalog"

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return False: the job never needs Delta, since a catalog here is Paimon's."""
        del by_name
        return False

    def check(self) -> None:
        """Check that the level reads the rows that ``key_columns`` needs."""
        if self.key_columns and self.level != "data":
            raise RequestError(
                "{key_columns} is {value!r} with {level} {given!r}, which reads no rows. Use {level} 'data', or leave "
                "out {key_columns}.",
                value=list(self.key_columns),
                given=self.level,
            )
        super().check()


def check_engine_names(content: Mapping[str, Any] | None, option: str, names: Iterable[str]) -> None:
    """Check that engines are declared in a fleet file.

    :param option: name of the option that names them
    :raises RequestError: for the first one that is not declared
    """
    for name in names:
        if content is None:
            raise RequestError("{option} names {name!r}. Pass {fleet}, which declares it.", option=option, name=name)
        fleet = _parsed(json.dumps(content))
        if not fleet.has_engine(name):
            raise RequestError(
                "{option} names {name!r}, which is not an engine of {fleet}.{hint}",
                option=option,
                name=name,
                hint=did_you_mean(name, fleet.names),
            )


def fleet_of(content: Mapping[str, Any] | None, table: TableName, location: str) -> TableFleet:
    """Return the fleet of a table.

    :param content: content of a fleet file
    :param location: location of the table
    """
    if content is None:
        from airflow_delta_provider.domain.engine.fleet import TableFleet

        return TableFleet()
    places = {table.text, table.text.rstrip("/"), normal_location(location)}

    def fits(pattern: str) -> bool:
        patterns = {pattern, normal_location(pattern)} if "/" in pattern else {pattern}
        return any(fnmatch.fnmatchcase(place, each) for place in places for each in patterns)

    return _parsed(json.dumps(content)).on(fits)


@lru_cache(maxsize=4)
def _parsed(text: str) -> Fleet:
    """Return a fleet, parsed once for all tables of a job."""
    from airflow_delta_provider.domain.engine.fleet import Fleet

    return Fleet.parse(json.loads(text), _NAMES)


def _place(value: Any, error: FleetError) -> str:
    """Return the place of an error in the file; empty for values that are not from YAML."""
    found = None
    for part in error.where:
        found = mark_of(value, part) or found
        try:
            value = value[part]
        except (LookupError, TypeError):
            break
    if error.key is not None:
        found = key_mark_of(value, error.key) or found
    return "" if found is None else f"line {found.line}, column {found.column}: "


#: Default number of days whose writers count as recent.
RECENT_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class CheckCompatibilityOptions(RecordsFindings):
    """Options to find the engines that a table locks out, now or with more features."""

    kind: ClassVar[str] = "check-compatibility"
    takes_patterns: ClassVar[bool] = True

    features: tuple[str, ...] = option(
        FeatureNames(),
        "table feature that is to be enabled, by its name in the protocol, in any case",
        flag="--feature",
        metavar="NAME",
    )
    columns: Mapping[str, str] = option(
        SqlTypes(parse_type), "column that is to be widened, and its new type", flag="--column", metavar="PATH=TYPE"
    )
    days: float = option(
        Days(),
        f"days whose commits show who writes to the table (default: {RECENT_DAYS})",
        default=RECENT_DAYS,
        metavar="DAYS",
    )
    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "fleet file, YAML or JSON: the engines that use the tables, and which of them must keep access",
        metavar="FILE",
    )
    probe: bool = option(Flag(), "also open the table with the deltalake package that is installed, and read one row")

    @property
    def plans(self) -> bool:
        """True if tables are to be checked with a change."""
        return bool(self.features or self.columns)

    @property
    def overlaps(self) -> bool:
        """True: several tables may be processed at once."""
        return True


#: Engines that can be tried: the name of the profile and the package, by the name on the command line.
TRIED: Mapping[str, tuple[str, str]] = {
    "delta-spark": ("Delta Spark", "delta-spark"),
    "deltalake": ("delta-rs", "deltalake"),
    "deltalake-pyarrow": ("deltalake to_pyarrow_table", "deltalake"),
    "polars": ("Polars", "polars"),
    "duckdb": ("DuckDB", "duckdb"),
    "daft": ("Daft", "daft"),
    "clickhouse": ("ClickHouse", "chdb-core"),
    "sail": ("Sail", "pysail"),
}


class TriedEngines(Names):
    """Names of engines, also several separated by commas."""

    def checked(self, option: str, value: Any) -> tuple[str, ...]:
        """Return the names of known engines."""
        names = super().checked(option, value)
        for name in names:
            if name not in TRIED:
                raise RequestError(
                    "{option} names {name!r}, which is none of {known}.{hint}",
                    option=option,
                    name=name,
                    known=", ".join(TRIED),
                    hint=did_you_mean(name, TRIED),
                )
        return names

    def from_items(self, option: str, items: list[Any]) -> Any:
        """Return the names; an item may have several."""
        return super().from_items(option, [name.strip() for item in items for name in item.split(",") if name.strip()])


@dataclass(frozen=True, kw_only=True)
class TryEnginesOptions(ReadsFiles):
    """Options to read tables with the engines that are installed beside this package."""

    kind: ClassVar[str] = "try-engines"

    engines: tuple[str, ...] = option(
        TriedEngines(),
        f"engine to try, or several separated by commas: {', '.join(TRIED)} (default: all that are installed)",
        flag="--with",
        metavar="ENGINE",
    )
    where: tuple[str, ...] = option(
        Names(), "SQL predicate: the rows that it selects are compared too, since engines skip files", metavar="SQL"
    )
    after: tuple[str, ...] = option(
        Names(),
        "command that first changes a copy of the table, such as 'enable-feature --feature deletionVectors'; the table "
        "itself stays as it is",
        metavar="COMMAND",
    )
    seconds_per_engine: float = option(
        Seconds(),
        "time limit for each engine, and for each command of --after (default: 120)",
        default=120,
        metavar="SECONDS",
        templated=False,
    )
