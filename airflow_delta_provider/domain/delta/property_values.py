"""Which values table properties may have.

PROTOCOL.md, Table Properties, and ``DeltaConfig.scala`` of Delta Spark v4.4.0, which fails on others. What another
module checks is not listed: the mapping mode, the highest column id, since when commits have timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta import table_properties as properties


@dataclass(frozen=True)
class Form:
    """What values look like.

    :param name: for people
    :param fits: whether a value does
    """

    name: str
    fits: Callable[[str], object]


_BOOLEAN = Form("true or false", re.compile(r"true|false", re.IGNORECASE).fullmatch)
_INTEGER = Form("an integer", re.compile(r"[+-]?\d{1,10}").fullmatch)
_POSITIVE = Form("a positive integer", re.compile(r"\+?0*[1-9]\d{0,9}").fullmatch)
_ISOLATION = Form(
    "an isolation level", re.compile(r"serializable|writeserializable|snapshotisolation", re.IGNORECASE).fullmatch
)
#: Engines differ in how they write intervals; none reads one without a number and a unit.
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
#: Those of which writers may take another value than the one that is set.
RECOMMENDED = frozenset({"delta.parquet.compression.codec"})
