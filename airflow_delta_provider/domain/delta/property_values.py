"""The valid values of table properties.

:data:`FORMS` has the values that a table may have, whichever engine set them: PROTOCOL.md, Table Properties. The
mapping mode, the highest column id and the start of in-commit timestamps are not listed: other modules check them.
:data:`SETTABLE` has the values that Delta Spark v4.4.0 accepts when it sets them, from the entries of ``DeltaConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta import table_properties as properties


@dataclass(frozen=True)
class Form:
    """A form of values.

    :param name: name of the form, for people
    :param fits: function whose result is truthy if a value has the form
    """

    name: str
    fits: Callable[[str], object]


_BOOLEAN = Form("true or false", re.compile(r"true|false", re.IGNORECASE).fullmatch)
_INTEGER = Form("an integer", re.compile(r"[+-]?\d{1,10}").fullmatch)
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
_FORMAT_VERSION = Form("1.0.0 or 2.MINOR.PATCH", re.compile(r"1\.0\.0|2\.\d+\.\d+").fullmatch)

FORMS: Mapping[str, Form] = {
    **dict.fromkeys(
        (
            properties.APPEND_ONLY,
            properties.ENABLE_CHANGE_DATA_FEED,
            properties.ENABLE_DELETION_VECTORS,
            properties.ENABLE_IN_COMMIT_TIMESTAMPS,
            properties.ENABLE_ROW_TRACKING,
            properties.ROW_TRACKING_SUSPENDED,
            properties.ENABLE_TYPE_WIDENING,
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
    "delta.dataSkippingNumIndexedCols": _INTEGER,
    "delta.isolationLevel": _ISOLATION,
    **dict.fromkeys(
        (
            "delta.deletedFileRetentionDuration",
            "delta.logRetentionDuration",
            "delta.setTransactionRetentionDuration",
            properties.TRUNCATION_RETENTION,
        ),
        _INTERVAL,
    ),
    "delta.parquet.compression.codec": _CODEC,
    "delta.parquet.format.version": _FORMAT_VERSION,
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


def _integer(name: str, least: int) -> Form:
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
    "checkpointInterval": _integer("a positive integer", 1),
    "checkpointPolicy": _one_of("classic", "v2", any_case=False),
    "columnMapping.mode": _one_of("none", "name", "id"),
    "dataSkippingNumIndexedCols": _integer("an integer of at least -1", -1),
    "dataSkippingStringPrefixLength": _integer("an integer of at least 0", 0),
    "isolationLevel": Form("Serializable, the only level that Delta Spark has", _one_of("serializable").fits),
    "parquet.format.version": _FORMAT_VERSION,
    "randomPrefixLength": _integer("a positive integer", 1),
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
