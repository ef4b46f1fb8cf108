"""Evidence, details, plans and usage of a report: each key is a field, with its label in texts.

``report.schema.json`` and the texts for people are derived from these fields. :class:`TableReport` holds their JSON
form, in which later versions may add keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

#: Value of a key that is not in the JSON form.
ABSENT: Any = object()
_SHA256: Mapping[str, Any] = {"pattern": "^[0-9a-f]{64}$"}
_STATES: Mapping[str, Any] = {"additionalProperties": {"enum": ["supported", "suspended", "enabled"]}}
_MODES: Mapping[str, Any] = {"enum": ["none", "name", "id"]}
_VERSION: Mapping[str, Any] = {"$ref": "#/$defs/version"}
_STRUCT: Mapping[str, Any] = {"$ref": "#/$defs/struct"}
_FINDINGS: Mapping[str, Any] = {"items": {"$ref": "#/$defs/finding"}}


def key(about: str = "", label: str = "", default: Any = ABSENT, *, within: str = "", **schema: Any) -> Any:
    """Return the field of a key.

    :param about: description in the schema
    :param label: label in texts; by default, the key with blanks
    :param default: ``MISSING`` if the key is required
    :param within: part of the text that says the same, so that this key is not repeated
    :param schema: keywords of the schema, in addition to those of the type. Numbers have a minimum of 0, unless it is
        None
    """
    known = {"description": about} if about else {}
    return field(default=default, metadata={"label": label, "within": within, "schema": known | schema})


def needed(about: str = "", label: str = "", **known: Any) -> Any:
    """Return the field of a key that is always there."""
    return key(about, label, MISSING, **known)


if TYPE_CHECKING:
    from dataclasses import dataclass as part
else:

    def part(**_):
        """Make a class a dataclass without generated methods: compiling them would take 25 ms at each start."""
        return dataclass(init=False, repr=False, eq=False)


@part(frozen=True, kw_only=True)
class Part:
    """A JSON object of a report."""

    about: ClassVar[str] = ""
    #: True if null takes the place of an object that is not known.
    nullable: ClassVar[bool] = False

    if not TYPE_CHECKING:

        def __init__(self, **known):
            keys = {each.name: each.default for each in fields(self)}
            wrong = [*(known.keys() - keys), *(key for key in keys if keys[key] is MISSING and key not in known)]
            if wrong:
                raise TypeError(f"{type(self).__name__} has unknown or missing keys: {', '.join(wrong)}")
            vars(self).update(keys | known)

        def __eq__(self, other):
            return type(self) is type(other) and vars(self) == vars(other)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without absent keys."""
        known = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: _wire(value) for name, value in known if value is not ABSENT}


def _wire(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_json()
    if isinstance(value, Enum):
        return value.value
    return [_wire(each) for each in value] if isinstance(value, (list, tuple)) else value


@part(frozen=True, kw_only=True)
class PlanStep(Part):
    """A step of a plan."""

    sql: str | None = needed(minLength=1)
    explanation: str = needed(minLength=1)
    step: int = key("Of a migration: number of the step; changes with the same number are one commit.", minimum=1)
    done_earlier: bool = key("True if an earlier try of the run did the step; absent otherwise.")
    digest: str = key("Of a migration: SHA-256 of the step.", within="digest of the plan", **_SHA256)
    metadata_only: bool = key("Of a migration: true if no data file is read or written.")
    files: int = key("Of a migration: data files that are rewritten.", "rewritten files")
    bytes: int = key("Of a migration: their size.", "rewritten bytes")
    undo: str = key("Of a migration: the way to undo it.")
    breaks: tuple[str, ...] = key("Of a migration: effects on readers and other writers.")
    heals: tuple[str, ...] = key("Of a repair: findings that the step fixes.", "fixes")
    loses: tuple[str, ...] = key("Of a repair: information that the step loses.")
    sees: tuple[str, ...] = key("Of a repair: differences that readers see afterwards.", "readers see")


@part(frozen=True, kw_only=True)
class UnfixedFinding(Part):
    """A finding that a repair does not fix."""

    code: str = needed(pattern=r"^[A-Z]{2}\d{2}$")
    version: int | None = needed(**_VERSION)
    fingerprint: str = needed()
    path: str = key()
    column: str = key()
    why: str = needed("Reason, or the permission that is missing.", minLength=1)


@part(frozen=True, kw_only=True)
class PlanAnswer(Part):
    """A plan, as in a report and in the file of an approved plan."""

    about = (
        "The plan, carried out or not; null for jobs and refusals without one. May gain keys within a schema version."
    )
    nullable = True

    digest: str = needed("SHA-256 of table and steps; also in the userMetadata of each commit.", **_SHA256)
    commits: int = needed("Commits expected.")
    steps: tuple[PlanStep, ...] = needed()
    notes: tuple[str, ...] = needed()
    changed: bool = key("Of a migration: true if there is anything to do.", "something to do")
    table: str = key("Of a migration: the table.")
    table_id: str = key("Of a migration: id of the table.")
    version: int = key("Of a migration: version that it was planned on.", "planned on version")
    base: str = key("Of a migration: SHA-256 of the protocol and metadata of that version.", **_SHA256)
    spec: Mapping[str, Any] = key("Of a migration: the declared state of the table.", within="diff")
    permissions: tuple[str, ...] = key("Of a migration: options that have to be set to apply it.")
    diff: tuple[str, ...] = key("Of a migration: lines of a diff of what can be declared of the table.")
    lint: tuple[Mapping[str, Any], ...] = key("Of a migration: findings about the plan.", **_FINDINGS)
    approval: tuple[str, ...] = key(
        "Of a migration: reasons why it needs approval; empty if it needs none.", "needs approval"
    )
    locked_out: tuple[Mapping[str, Any], ...] = key("Of a migration: engines that it locks out, or may.", **_FINDINGS)
    permitted: tuple[str, ...] = key("Of a repair: fingerprints of findings whose repair may lose information.")
    needed: tuple[str, ...] = key(
        "Of a repair: fingerprints that a repair of all else needs in addition.", "not permitted"
    )
    level: str = key("Of a repair: level of the audit that proves it.", enum=["log", "footers"])
    left_open: tuple[UnfixedFinding, ...] = key("Of a repair: findings that stay open, each with the reason.")
    checksum: str = key("Of a migration: SHA-256 of all else in the plan.", **_SHA256)


class Usage(str, Enum):
    USED = "USED"
    UNUSED = "UNUSED"
    UNDETERMINED = "UNDETERMINED"


@part(frozen=True, kw_only=True)
class UsagePiece(Part):
    """A piece of evidence for or against the usage of column mapping."""

    kind: str = needed("renamed and dropped are proofs, with version, column and physical_path; the others are not.")
    text: str = needed(minLength=1)
    column: str = key()
    renamed_to: str = key()
    physical_path: tuple[str, ...] = key()
    id: int = key(minimum=None)
    version: int | None = key(**_VERSION)
    engine: str = key()
    writer: str = key()
    operation: str = key()
    user: str = key()
    timestamp: str = key()
    rule: str = key("Rule of the audit that the table's own record breaks.")


@part(frozen=True, kw_only=True)
class UsageAnswer(Part):
    """The usage of column mapping of a table."""

    about = (
        "Of column-mapping-usage: the usage of the mapping; null or absent for other kinds. May gain keys within a "
        "schema version."
    )
    nullable = True

    answer: Usage = needed()
    mode: str = needed("Mode of column mapping.", **_MODES)
    known_since: int = needed(
        "The first version whose columns are known; 0 is the whole history.", "known since version"
    )
    unknown_before: int | None = needed(
        "The version before which the history is unknown; null if all is known.", "unknown before version", **_VERSION
    )
    evidence: tuple[UsagePiece, ...] = needed()


@part(frozen=True, kw_only=True)
class RightColumn(Part):
    """The right statistics of a column in a file. Bounds are text as in the log, with all digits."""

    column: tuple[str, ...] = key("Names in the statistics: physical names, from the top-level column down.")
    type: str = key("Type of the column, as in the schema's JSON.")
    read_from: str = key(
        "footer: of all rows of the file; rows: of those that are not deleted.", enum=["footer", "rows"]
    )
    min: str = key("Least value; absent if it is not known, or if there is none.", "minimum")
    max: str = key("Greatest value; absent if it is not known, or if there is none.", "maximum")
    nulls: int = key("Number of NULLs; absent if it is not known.", "NULLs")
    missing: tuple[str, ...] = key("Reasons why a bound or the number of NULLs is unknown, in phrases.", "not known")


@part(frozen=True, kw_only=True)
class RightStatistics(Part):
    """The right statistics of a file whose statistics are wrong."""

    path: str = key("Path of the file, as in the log.")
    rows: int = key("numRecords: all rows of the file, also deleted ones.")
    tight: bool = key("tightBounds: false if a deletion vector may have deleted rows that the bounds count.")
    columns: tuple[RightColumn, ...] = key("The columns whose statistics are wrong.")


@part(frozen=True, kw_only=True)
class Repair(Part):
    """Data to correct the statistics of files in the log."""

    files: tuple[RightStatistics, ...] = key("The first files with wrong statistics.")
    left_out: int = key("Number of further files and columns with wrong statistics.", "left out")


@part(frozen=True, kw_only=True)
class Statistics(Part):
    """Statistics that an audit compared with the data files."""

    compared: int = key("Columns of files whose statistics were compared.")
    not_compared: Mapping[str, int] = key("The others, by reason.", additionalProperties={"type": "integer"})
    repair: Repair = key("The right values of statistics that are wrong; absent if none are.")


@part(frozen=True, kw_only=True)
class HiddenRows(Part):
    """The number of rows that a query of an engine finds with skipping of files, and without."""

    rule: str = key("Code of the finding whose predicate the query has.")
    column: str = key()
    predicate: str = key()
    engine: str = key("Name and version.")
    rows: int = key("Rows without skipping; absent if the query failed.", "rows without skipping")
    found: int = key("Rows with skipping.", "rows with skipping")
    problem: str = key("The reason why the engine gave no answer; absent if it did.")


@part(frozen=True, kw_only=True)
class EngineOutcome(Part):
    """The outcome for an engine that uses a table."""

    engine: str = key()
    uses: str = key(enum=["read", "read and write"])
    must_stay: bool = key("True if it must keep its access.", "must stay able to")
    commits: int = key("Its commits of these days.")
    outcome: str = key(enum=["READ_LOCKED", "SILENT_WRONG_RESULTS", "WRITE_LOCKED", "UNKNOWN", "OK"])


@part(frozen=True, kw_only=True)
class LoggedWriter(Part):
    """An engine that wrote to a table lately."""

    engine: str | None = key("Name and version, or its signature in commits; null if it has none.")
    commits: int = key(minimum=1)
    first_version: int = key()
    last_version: int = key()
    last_time: str | None = key()


@part(frozen=True, kw_only=True)
class LockedOutEngines(Part):
    """Names of engines that cannot use a table."""

    read: tuple[str, ...] = key()
    write: tuple[str, ...] = key()
    misread: tuple[str, ...] = key("Engines that return wrong rows without an error, with their releases.")


@part(frozen=True, kw_only=True)
class Probe(Part):
    """One trial of an installed engine.

    :param engine: name of its profile
    :param version: its version; None if it is not installed
    :param message: the engine's message, if it did not read the table
    """

    nullable = True

    engine: str = key()
    version: str | None = key()
    reads: bool | None = key("Null if the trial does not show it.")
    message: str = key(default="")


@part(frozen=True, kw_only=True)
class EngineTrial(Part):
    """An installed engine that read a whole table."""

    engine: str = key()
    version: str | None = key("Null if it is not installed.")
    outcome: str = key(enum=["read", "refused", "not measured"])
    rows: int | None = key("Rows that it read; null if it did not.")
    digest: str | None = key("Digest of these rows, whatever their order.", "digest of the rows")
    message: str = key(default="")


@part(frozen=True, kw_only=True)
class PlannedVacuum(Part):
    """The effect of a VACUUM that is planned."""

    retain: str = key("Its retention.", "retention")
    files: int = key("Files that it would delete.")
    bytes: int = key("Their size, as far as it is known.")
    unsized: int = key("Of these files, those of unknown size.", "files of unknown size")
    unreferenced: int | None = key(
        "Of these files, those that the log does not name; null at level log.", "files that the log does not name"
    )
    paths: tuple[str, ...] = key("The first of these files.")
    travel_from_version: int = key("The first version of complete time travel after it.", "time travel afterwards from")
    feed_from_version: int | None = key(
        "The first version of the complete change data feed after it; null if there is none.",
        "change feed afterwards from",
    )


@part(frozen=True, kw_only=True)
class ConsumerOutcome(Part):
    """The outcome for a stream that reads a table."""

    checkpoint: str = key()
    version: int | None = key("The version that it reads next; null if unknown.", "reads next version")
    initial: bool | None = key(
        "True if it still reads the table as of that version; null if unknown.", "initial snapshot"
    )
    outcome: str = key(enum=["BROKEN", "BROKEN_BY_VACUUM", "BROKEN_BY_CLEAN_UP", "UNKNOWN", "OK"])


@part(frozen=True, kw_only=True)
class Evidence(Part):
    """The extent of a check."""

    about = (
        "What a check looked at; null or absent for jobs that change tables. What was not looked at is null or absent. "
        "May gain keys within a schema version."
    )
    nullable = True

    level: str = key("Of check-row-tracking: level of the check.", enum=["log", "footers", "data", "metadata", "files"])
    source: str = key("Of check-paimon-row-tracking: native files, or the catalog.", enum=["native", "catalog"])
    compare_to_version: int | None = key(
        "The version since which row ids were compared; null if they were not.", "ids compared since version"
    )
    first_version: int | None = key("Of audit: the first commit that was checked, null if none was.")
    commits: int = key("Of audit: checked commits.")
    since_snapshot: int | None = key("Of check-paimon-row-tracking: snapshot after which it began.")
    first_snapshot: int | None = key("Of check-paimon-row-tracking: first snapshot that was read.")
    snapshots: int = key("Of check-paimon-row-tracking: snapshots that were read.")
    files: int | None = key("Live data files.", "live files")
    rows: int | None = key("Rows of the table; those that deletion vectors hide are not counted.")
    data_version: int = key(
        "Of check-drift with freshness: the last commit that changed data.", "data changed by version"
    )
    data_time: str | None = key("Its time, ISO 8601; null if it states none.", "data changed at")
    data_time_source: str = key(
        "The field that states the time.", "time stated by", enum=["inCommitTimestamp", "commitInfo.timestamp"]
    )
    files_with_materialized_ids: int | None = key("Of these files, those that have row ids in a column.")
    materialized_ids_read: int | None = key("Row ids read from such columns.")
    checkpoints: int = key("Of audit: checkpoints, if not all were compared.")
    checkpoints_compared: int = key("Of audit: checkpoints that were compared with the commits.")
    statistics: Statistics = key("Of audit: columns of files whose statistics were compared with the files.")
    hidden_rows: tuple[HiddenRows, ...] = key(
        "Of audit with show_hidden_rows: the rows that the predicates of findings find and lose."
    )
    commits_compared: int = key("Commits whose moved rows were compared with their state before.")
    footers_read: int = key("Of check-paimon-row-tracking: footers that were read.")
    files_with_ids_read: int = key("Of check-paimon-row-tracking: files whose row ids were read.")
    unchanged_files_read: int = key("Of check-paimon-row-tracking: of these, files that no commit since changed.")
    columns_not_compared: tuple[str, ...] = key(
        "Of check-paimon-row-tracking: columns of a type that cannot be compared."
    )
    next_row_id: int | None = key("Of check-paimon-row-tracking: next row id of the newest snapshot.", minimum=None)
    notes: tuple[str, ...] = key("Of check-paimon-row-tracking: omitted checks, in sentences.")
    not_checked: tuple[str, ...] = key("Of audit and check-row-tracking: checks of deeper levels, in phrases.")
    owner: str = key("Of audit: owner of the table, by the request.")
    newest_version: int = key("Of audit: newest version in the log, if it is later than the checked one.")
    row_id_high_water_mark: int | None = key("Mark in the log; null if there is none.", minimum=-1)
    engines: tuple[EngineOutcome, ...] = key(
        "Of check-compatibility: the outcome for each engine that is declared or wrote recently."
    )
    writers: tuple[LoggedWriter, ...] = key(
        "Of check-compatibility: who wrote to the table within the days that were asked for, the newest commit first."
    )
    writers_since_version: int | None = key("Version of the oldest commit of these days, null if there is none.")
    known_lockouts: LockedOutEngines = key(
        "Of check-compatibility: engines that are known not to read, not to write, or to misread such a table, whether "
        "they use it or not."
    )
    probe: Probe | None = key("Of check-compatibility: the result of the installed engine; null if it was not tried.")
    tried: tuple[EngineTrial, ...] = key("Of try-engines: the result of each installed engine.", "engines")
    earliest_version: int = key("Of check-retention: the first version that the log has.", "log from version")
    travel_from_version: int | None = key(
        "Of check-retention: the first version from which on all versions have their files; null if the newest has "
        "not.",
        "time travel from version",
    )
    feed_from_version: int | None = key(
        "Of check-retention: the first version of the complete change data feed; null if there is none.",
        "change feed from version",
    )
    vacuum: PlannedVacuum = key("Of check-retention: the effect of a VACUUM.")
    consumers: tuple[ConsumerOutcome, ...] = key("Of check-retention: the streams that were asked for.")
    table_id: str | None = key("Of init-spec: id of the table; null if it has none.")
    left_out: tuple[str, ...] = key("Of init-spec: properties of the table that the spec lacks, in sentences.")


@part(frozen=True, kw_only=True)
class TableFormat(Part):
    """The format of data files."""

    provider: str = needed()
    options: Mapping[str, Any] = needed()


@part(frozen=True, kw_only=True)
class LastCommit(Part):
    """The description of a commit by its writer."""

    nullable = True

    version: int = needed()
    timestamp: str | None = needed()
    operation: str | None = needed()
    engine: str | None = needed()
    writer: str | None = needed()
    user: str | None = needed()


@part(frozen=True, kw_only=True)
class Detail(Part):
    """The description of a table."""

    about = (
        "State of the table at that version, of the kind detail; null for other kinds, and if the log could not be "
        "read. May gain keys within a schema version."
    )
    nullable = True

    location: str = needed("Directory of the table, a URI; of a catalog name too.", minLength=1)
    id: str | None = needed("Table id; null if the log has none.")
    name: str | None = needed()
    description: str | None = needed()
    format: TableFormat = needed()
    columns: Mapping[str, str] | None = needed(
        "SQL types of the top-level columns by name, in their order; null if the schema is damaged."
    )
    schema: Mapping[str, Any] | None = needed(
        "The schema as in the log; null if it is damaged.", within="columns", **_STRUCT
    )
    data_schema: Mapping[str, Any] | None = needed(
        "The same without partition columns, as in data files.", within="columns", **_STRUCT
    )
    partition_columns: tuple[str, ...] = needed()
    configuration: Mapping[str, str] = needed("Table properties.")
    created_time: str | None = needed(oneOf=[{"$ref": "#/$defs/time"}, {"type": "null"}])
    column_mapping_mode: str = needed(**_MODES)
    protocol: Mapping[str, Any] = needed(**{"$ref": "#/$defs/protocol"})
    features: Mapping[str, str] = needed(
        "States of the features that the protocol has, by name; one that is not there is absent.", **_STATES
    )
    clustering_columns: tuple[str, ...] = key("Clustering columns; empty if there are none.")
    num_files: int | None = key("Number of live data files; null if the log's files could not be read.")
    size_in_bytes: int | None = key("Size of these files in bytes; null if the log's files could not be read.")
    last_modified: str | None = key(
        "Time of the commit of this version; null if unknown.",
        within="last_commit",
        oneOf=[{"$ref": "#/$defs/time"}, {"type": "null"}],
    )
    last_commit: LastCommit | None = needed("The commitInfo of this version; null if the log no longer has it.")
