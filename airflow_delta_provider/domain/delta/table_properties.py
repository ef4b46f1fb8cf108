"""Table properties that have a meaning in Delta, parsed once.

Delta Spark accepts ``true`` and ``false`` in any case (Scala's ``toBoolean``) and refuses a commit that sets anything
else, including spaces around them. So any value except ``true`` counts as off here. The values in the log are in
:attr:`Metadata.configuration <airflow_delta_provider.domain.delta.metadata.Metadata.configuration>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

APPEND_ONLY = "delta.appendOnly"
ENABLE_CHANGE_DATA_FEED = "delta.enableChangeDataFeed"
CHECKPOINT_POLICY = "delta.checkpointPolicy"
COLUMN_MAPPING_MODE = "delta.columnMapping.mode"
#: Prefix of properties that contain a CHECK constraint.
CONSTRAINT_PREFIX = "delta.constraints."
ENABLE_DELETION_VECTORS = "delta.enableDeletionVectors"
#: Property of usage tracking: whether a column was ever dropped or renamed.
DROPPED_OR_RENAMED = "delta.columnMapping.hasDroppedOrRenamed"
ENABLE_IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"
#: Properties of in-commit timestamps: the first commit that has them, if the table has older commits.
ENABLEMENT_VERSION = "delta.inCommitTimestampEnablementVersion"
ENABLEMENT_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
#: Set with ``checkpointProtection``: history before this version may be cleaned up only as a whole.
PROTECTED_BEFORE = "delta.requireCheckpointProtectionBeforeVersion"
ROW_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
ROW_COMMIT_VERSION_COLUMN = "delta.rowTracking.materializedRowCommitVersionColumnName"
ENABLE_ROW_TRACKING = "delta.enableRowTracking"
#: Set while writers assign no row ids, before row tracking is dropped.
ROW_TRACKING_SUSPENDED = "delta.rowTrackingSuspended"
STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"
DELETED_FILE_RETENTION = "delta.deletedFileRetentionDuration"
LOG_RETENTION = "delta.logRetentionDuration"
LOG_CLEANUP = "delta.enableExpiredLogCleanup"
TRUNCATION_RETENTION = "delta.dropFeatureTruncateHistory.retentionDuration"
ENABLE_TYPE_WIDENING = "delta.enableTypeWidening"

#: Names, in this case, that SET TBLPROPERTIES refuses, or does not store as a property of the table, in some release of
#: Spark; each with the alternative. Measured with Spark 3.5 and 4.2, Delta 3.3 and 4.4.
RESERVED_PROPERTIES: Mapping[str, str] = {
    "comment": "it would change the table's description; use COMMENT ON TABLE.",
    "location": "a table's location is not a property; use ALTER TABLE … SET LOCATION.",
    "provider": "a table's format is not a property.",
    "owner": "the catalog keeps a table's owner.",
    "external": "whether a table is external follows from how it was created.",
    "is_managed_location": "the catalog keeps it itself.",
    "table_type": "the catalog keeps it itself.",
    "collation": "a table's collation is not a property; use ALTER TABLE … DEFAULT COLLATION.",
}

_INTEGER = re.compile(r"-?\d{1,19}")
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s+(week|day|hour|minute|second|millisecond|microsecond)s?\s*", re.IGNORECASE)
_DEFAULT_RETENTION = timedelta(hours=24)
_DEFAULT_FILE_RETENTION = timedelta(weeks=1)


class MappingMode(str, Enum):
    """The way to find columns in data files."""

    NONE = "none"
    NAME = "name"
    ID = "id"


def is_true(value: str | None) -> bool:
    """Return True if a property's value is ``true``, in any case."""
    return value is not None and value.lower() == "true"


def _mode(value: str | None) -> MappingMode:
    known = {mode.value: mode for mode in MappingMode}
    return known.get((value or "").lower(), MappingMode.NONE)


def _unknown_mode(value: str | None) -> str | None:
    return None if value is None or value.lower() in {mode.value for mode in MappingMode} else value


def _integer(value: str | None) -> int | None:
    return int(value) if value is not None and _INTEGER.fullmatch(value) else None


def _version(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None


def _folded(value: str | None) -> str | None:
    return None if value is None else value.lower()


def _text(value: str | None) -> str:
    return value or ""


def _retention(value: str | None, default: timedelta = _DEFAULT_RETENTION) -> timedelta | None:
    if value is None:
        return default
    text = re.sub(r"^\s*interval\s+", "", value, flags=re.IGNORECASE).strip()
    found = _QUANTITY.findall(text)
    if not found or _QUANTITY.sub("", text).strip():
        return None
    return sum((timedelta(**{f"{unit.lower()}s": float(number)}) for number, unit in found), timedelta())


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.IGNORECASE)


def parse_duration(text: str) -> timedelta | None:
    """Return a time as people write it: ``90m``, ``26h``, ``7d``, ``2w``, or an interval such as ``7 days``.

    None if it is not one, or is negative.
    """
    try:
        short = _SHORT.fullmatch(text.strip())
        found = timedelta(**{_UNITS[short[2].lower()]: float(short[1])}) if short else _retention(text)
    except OverflowError:
        return None
    return found if found is not None and found >= timedelta() else None


def duration_text(duration: timedelta) -> str:
    """Return a time in its largest whole unit, such as ``26h``."""
    seconds = duration.total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def _file_retention(value: str | None) -> timedelta | None:
    return _retention(value, _DEFAULT_FILE_RETENTION)


def _read(name: str, parse: Callable[[str | None], Any]) -> Mapping[str, Any]:
    return {"name": name, "parse": parse}


@dataclass(frozen=True)
class TableProperties:
    """The parsed properties of a table, regardless of its protocol.

    :param mapping_mode: mapping mode; an unknown mode counts as none, and engines refuse a table that has one
    :param unknown_mapping_mode: mode as in the log, if it is unknown
    :param max_column_id: highest column id; None if it is missing or not an integer
    :param dropped_or_renamed: value in lower case, ``true`` or ``false`` if usage tracking is intact; None if missing
    :param protected_before: version before which history is protected; None if it is missing or not a version
    :param checkpoint_policy: policy in lower case, ``classic``, or ``v2`` and its variants; None if missing
    :param row_id_column: column of data files with materialized row ids; empty if there is none
    :param row_commit_version_column: column of data files with materialized row commit versions; empty if there is none
    :param statistics_columns: columns with statistics, separated by commas; empty if not restricted
    :param deleted_file_retention: time that tombstones of removed files are kept; None if the value is not an interval
    :param truncation_retention: age at which DROP FEATURE … TRUNCATE HISTORY deletes old history; None if the value is
        not an interval
    """

    append_only: bool = field(metadata=_read(APPEND_ONLY, is_true))
    change_data_feed: bool = field(metadata=_read(ENABLE_CHANGE_DATA_FEED, is_true))
    checkpoint_policy: str | None = field(metadata=_read(CHECKPOINT_POLICY, _folded))
    mapping_mode: MappingMode = field(metadata=_read(COLUMN_MAPPING_MODE, _mode))
    unknown_mapping_mode: str | None = field(metadata=_read(COLUMN_MAPPING_MODE, _unknown_mode))
    max_column_id: int | None = field(metadata=_read(MAX_COLUMN_ID, _integer))
    dropped_or_renamed: str | None = field(metadata=_read(DROPPED_OR_RENAMED, _folded))
    deletion_vectors: bool = field(metadata=_read(ENABLE_DELETION_VECTORS, is_true))
    in_commit_timestamps: bool = field(metadata=_read(ENABLE_IN_COMMIT_TIMESTAMPS, is_true))
    protected_before: int | None = field(metadata=_read(PROTECTED_BEFORE, _version))
    row_tracking: bool = field(metadata=_read(ENABLE_ROW_TRACKING, is_true))
    row_tracking_suspended: bool = field(metadata=_read(ROW_TRACKING_SUSPENDED, is_true))
    row_id_column: str = field(metadata=_read(ROW_ID_COLUMN, _text))
    row_commit_version_column: str = field(metadata=_read(ROW_COMMIT_VERSION_COLUMN, _text))
    statistics_columns: str = field(metadata=_read(STATISTICS_COLUMNS, _text))
    deleted_file_retention: timedelta | None = field(metadata=_read(DELETED_FILE_RETENTION, _file_retention))
    truncation_retention: timedelta | None = field(metadata=_read(TRUNCATION_RETENTION, _retention))
    type_widening: bool = field(metadata=_read(ENABLE_TYPE_WIDENING, is_true))

    @classmethod
    def parse(cls, configuration: Mapping[str, str]) -> TableProperties:
        """Parse the properties. Invalid values are not errors."""
        return cls(**{f.name: f.metadata["parse"](configuration.get(f.metadata["name"])) for f in fields(cls)})

    @property
    def is_mapped(self) -> bool:
        """Return True if columns are mapped, by name or by id."""
        return self.mapping_mode is not MappingMode.NONE

    @property
    def has_dropped_or_renamed(self) -> bool:
        """Return True if the property records that a column was dropped or renamed."""
        return self.dropped_or_renamed == "true"

    @property
    def materialized_columns(self) -> tuple[str, ...]:
        """The columns of data files that contain ids and commit versions of moved rows, for row tracking."""
        return tuple(filter(None, (self.row_id_column, self.row_commit_version_column)))


class Form(NamedTuple):
    """A form of values.

    :param name: name of the form, for people
    :param fits: function whose result is truthy if a value has the form
    """

    name: str
    fits: Callable[[str], object]


_BOOLEAN = Form("true or false", re.compile(r"true|false", re.IGNORECASE).fullmatch)
_ANY_INTEGER = Form("an integer", re.compile(r"[+-]?\d{1,10}").fullmatch)
_POSITIVE = Form("a positive integer", re.compile(r"\+?0*[1-9]\d{0,9}").fullmatch)
_ISOLATION = Form(
    "an isolation level", re.compile(r"serializable|writeserializable|snapshotisolation", re.IGNORECASE).fullmatch
)
#: Engines write intervals differently; none accepts one without a number and a unit.
_INTERVAL = Form(
    "an interval",
    re.compile(
        r"\d.*?(?:year|month|week|day|hour|minute|second|milli|micro|nano|\d\s*(?:ms|[smhdw])\b)|^\s*p[t\d]|"
        r"^\s*interval\s+'?-?\d",
        re.IGNORECASE | re.DOTALL,
    ).search,
)
_CODEC = Form(
    "a known compression codec",
    re.compile(r"none|uncompressed|snappy|gzip|lz4|lz4_raw|zstd|brotli|lzo", re.IGNORECASE).fullmatch,
)
_VERSION = Form("a version", lambda text: re.fullmatch(r"\+?\d{1,19}", text) and int(text) < 1 << 63)
_FORMAT_VERSION = Form("1.0.0 or 2.MINOR.PATCH", re.compile(r"1\.0\.0|2\.\d+\.\d+").fullmatch)

FORMS: Mapping[str, Form] = {
    **dict.fromkeys(
        (
            APPEND_ONLY,
            ENABLE_CHANGE_DATA_FEED,
            ENABLE_DELETION_VECTORS,
            ENABLE_IN_COMMIT_TIMESTAMPS,
            ENABLE_ROW_TRACKING,
            ROW_TRACKING_SUSPENDED,
            ENABLE_TYPE_WIDENING,
            "delta.checkpoint.writeStatsAsJson",
            "delta.checkpoint.writeStatsAsStruct",
            "delta.enableExpiredLogCleanup",
            "delta.enableIcebergCompatV1",
            "delta.enableIcebergCompatV2",
            "delta.enableIcebergCompatV3",
            "delta.enableVariantShredding",
            "delta.randomizeFilePrefixes",
        ),
        _BOOLEAN,
    ),
    "delta.checkpointInterval": _POSITIVE,
    "delta.dataSkippingNumIndexedCols": _ANY_INTEGER,
    "delta.isolationLevel": _ISOLATION,
    **dict.fromkeys(
        (
            "delta.deletedFileRetentionDuration",
            "delta.logRetentionDuration",
            "delta.setTransactionRetentionDuration",
            TRUNCATION_RETENTION,
        ),
        _INTERVAL,
    ),
    "delta.parquet.compression.codec": _CODEC,
    "delta.parquet.format.version": _FORMAT_VERSION,
    PROTECTED_BEFORE: _VERSION,
}
#: Units of an interval, in microseconds. Months and years have no fixed length: Delta Spark refuses them.
_MICROSECONDS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_PART = re.compile(r"([+-]?)\s*(\d+)(\.\d{0,9})?\s+([a-z]+?)s?(?=\s|$)\s*")


def _is_retention(text: str) -> bool:
    """Return True if Delta Spark accepts an interval as a retention.

    It must not have months or years, nor be negative in total.
    """
    return (_microseconds(text) or 0) >= 0 and _microseconds(text) is not None


def _microseconds(text: str) -> int | None:
    """Return the length of an interval; None if it is invalid, or has months or years."""
    rest = re.sub(r"^interval\s+", "", text.strip().lower())
    total, at = 0, 0
    while part := _PART.match(rest, at):
        sign, number, fraction, unit = part.groups()
        if unit not in _MICROSECONDS or (fraction and unit != "second"):
            return None
        total += (-1 if sign == "-" else 1) * int(number) * _MICROSECONDS[unit]
        at = part.end()
    return total if rest and at == len(rest) else None


def _integer_form(name: str, least: int) -> Form:
    def fits(text: str) -> bool:
        return re.fullmatch(r"[+-]?\d{1,10}", text) is not None and least <= int(text) < 1 << 31

    return Form(name, fits)


def _one_of(*words: str, any_case: bool = True) -> Form:
    known = frozenset(words)
    return Form(" or ".join(words), lambda text: (text.lower() if any_case else text) in known)


def _are_formats(text: str) -> bool:
    formats = text.split(",") if text else []
    return len({*formats}) == len(formats) and {*formats} <= {"hudi", "iceberg"}


_RETENTION = Form("an interval without months and years, such as '2 weeks' or '365 days'", _is_retention)
_ANY = Form("any text", lambda _: True)

SETTABLE: Mapping[str, Form] = {
    **dict.fromkeys(
        """
        appendOnly autoOptimize autoOptimize.optimizeWrite castIcebergTimeType checkpoint.writeStatsAsJson
        checkpoint.writeStatsAsStruct compatibility.symlinkFormatManifest.enabled enableChangeDataCapture
        enableChangeDataFeed enableDeletionVectors enableExpiredLogCleanup enableFullRetentionRollback
        enableIcebergCompatV1 enableIcebergCompatV2 enableIcebergCompatV3 enableInCommitTimestamps
        enableMaterializePartitionColumnsFeature enableRowTracking enableTypeWidening enableVariantShredding
        ignoreIcebergBucketPartition ignoreProtocolDefaults randomizeFilePrefixes rowTrackingSuspended
        universalFormat.iceberg.atomicConversion.supported writePartitionColumnsToParquet
        """.split(),
        _BOOLEAN,
    ),
    **dict.fromkeys(
        """
        checkpointRetentionDuration deletedFileRetentionDuration dropFeatureTruncateHistory.retentionDuration
        logRetentionDuration sampleRetentionDuration setTransactionRetentionDuration
        """.split(),
        _RETENTION,
    ),
    "autoOptimize.autoCompact": _one_of("true", "false"),
    "checkpointInterval": _integer_form("a positive integer", 1),
    "checkpointPolicy": _one_of("classic", "v2", any_case=False),
    "columnMapping.mode": _one_of("none", "name", "id"),
    "dataSkippingNumIndexedCols": _integer_form("an integer of at least -1", -1),
    "dataSkippingStringPrefixLength": _integer_form("an integer of at least 0", 0),
    "isolationLevel": Form("Serializable, the only level that Delta Spark has", _one_of("serializable").fits),
    "parquet.format.version": _FORMAT_VERSION,
    "randomPrefixLength": _integer_form("a positive integer", 1),
    "universalFormat.enabledFormats": Form("a list of iceberg and hudi, separated by commas", _are_formats),
    **dict.fromkeys(
        """
        columnMapping.maxColumnId coordinatedCommits.commitCoordinator-preview
        coordinatedCommits.commitCoordinatorConf-preview coordinatedCommits.tableConf-preview dataSkippingStatsColumns
        inCommitTimestampEnablementTimestamp inCommitTimestampEnablementVersion minReaderVersion minWriterVersion
        redirectReaderWriter-preview redirectWriterOnly-preview requireCheckpointProtectionBeforeVersion
        """.split(),
        _ANY,  # another module checks them, or sets them itself
    ),
}
#: The same by full name in lower case: Delta Spark accepts the names in any case.
_SETTABLE = {f"delta.{name.lower()}": form for name, form in SETTABLE.items()}


def why_not_set(name: str, value: str) -> str | None:
    """Return the values that Delta Spark accepts for a property if it refuses ``value``; otherwise None.

    None also for a name that Delta Spark does not know.
    """
    form = _SETTABLE.get(name.lower())
    return None if form is None or form.fits(value) else form.name


_LOG_RETENTION, _FILE_RETENTION = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
_DEFAULTS = {_LOG_RETENTION: "30 days", _FILE_RETENTION: "7 days"}


def shorter_log(properties: Mapping[str, str]) -> tuple[str, str] | None:
    """Return both retentions if Delta Spark, since 4.1, refuses them because the log's is shorter.

    The engine compares the values that one statement sets. A retention missing from the statement counts with its
    default, even if the table has another value.

    :param properties: all properties that one statement sets
    """
    given = {name.lower(): value for name, value in properties.items()}
    if not {_LOG_RETENTION.lower(), _FILE_RETENTION.lower()} & given.keys():
        return None
    log, file = (given.get(name.lower(), _DEFAULTS[name]) for name in (_LOG_RETENTION, _FILE_RETENTION))
    lengths = _microseconds(log), _microseconds(file)
    return (log, file) if None not in lengths and (lengths[0] or 0) < (lengths[1] or 0) else None


#: Properties for which writers may use a value other than the one set.
RECOMMENDED = frozenset({"delta.parquet.compression.codec"})
