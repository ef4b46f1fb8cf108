"""Table properties that Delta gives a meaning, parsed once.

Delta Spark takes ``true`` and ``false`` in any case (Scala's ``toBoolean``) and refuses the commit that sets anything
else, spaces around them included; so whatever is not ``true`` counts as off here. What the log has is in
:attr:`Metadata.configuration <airflow_delta_provider.domain.delta.metadata.Metadata.configuration>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import Enum
from typing import Any

APPEND_ONLY = "delta.appendOnly"
ENABLE_CHANGE_DATA_FEED = "delta.enableChangeDataFeed"
CHECKPOINT_POLICY = "delta.checkpointPolicy"
COLUMN_MAPPING_MODE = "delta.columnMapping.mode"
#: What the names of properties begin with that hold a CHECK constraint.
CONSTRAINT_PREFIX = "delta.constraints."
ENABLE_DELETION_VECTORS = "delta.enableDeletionVectors"
#: Of usage tracking: whether a column was ever dropped or renamed.
DROPPED_OR_RENAMED = "delta.columnMapping.hasDroppedOrRenamed"
ENABLE_IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"
#: Of in-commit timestamps: since when commits have them, where the table has older ones.
ENABLEMENT_VERSION = "delta.inCommitTimestampEnablementVersion"
ENABLEMENT_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
#: Set with ``checkpointProtection``: history before this version may only be cleaned up as a whole.
PROTECTED_BEFORE = "delta.requireCheckpointProtectionBeforeVersion"
ROW_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
ROW_COMMIT_VERSION_COLUMN = "delta.rowTracking.materializedRowCommitVersionColumnName"
ENABLE_ROW_TRACKING = "delta.enableRowTracking"
#: Set while writers assign no row ids: before row tracking is dropped.
ROW_TRACKING_SUSPENDED = "delta.rowTrackingSuspended"
STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"
DELETED_FILE_RETENTION = "delta.deletedFileRetentionDuration"
TRUNCATION_RETENTION = "delta.dropFeatureTruncateHistory.retentionDuration"
ENABLE_TYPE_WIDENING = "delta.enableTypeWidening"

#: Names, in this case, that SET TBLPROPERTIES takes for something else than a property of the table, or refuses, in any
#: release of Spark; with what does it instead. Measured with Spark 3.5 and 4.2, Delta 3.3 and 4.4.
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
_FILE_RETENTION = timedelta(weeks=1)


class MappingMode(str, Enum):
    """How columns are found in data files."""

    NONE = "none"
    NAME = "name"
    ID = "id"


def is_true(value: str | None) -> bool:
    """Whether a property's value switches it on."""
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


def _file_retention(value: str | None) -> timedelta | None:
    return _retention(value, _FILE_RETENTION)


def _read(name: str, parse: Callable[[str | None], Any]) -> Mapping[str, Any]:
    return {"name": name, "parse": parse}


@dataclass(frozen=True)
class TableProperties:
    """What a table's properties say, whatever its protocol supports.

    :param mapping_mode: an unknown mode, with which engines refuse the table, counts as none
    :param unknown_mapping_mode: the mode as it is in the log, where it is not a known one
    :param max_column_id: None where it is missing or not an integer
    :param dropped_or_renamed: in lower case, ``true`` and ``false`` where usage tracking is intact; None where missing
    :param protected_before: None where it is missing or not a version
    :param checkpoint_policy: in lower case, ``classic``, or ``v2`` and its variants; None where missing
    :param row_id_column: column of data files with materialized row ids; empty where there is none
    :param row_commit_version_column: column of data files with materialized row commit versions; empty likewise
    :param statistics_columns: columns with statistics, separated by commas; empty where not restricted
    :param deleted_file_retention: how long tombstones of removed files are kept; None where it is not an interval
    :param truncation_retention: how old history has to be before DROP FEATURE … TRUNCATE HISTORY deletes it; None where
        the value is not an interval
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
        """Read the properties; nothing in them is an error."""
        return cls(**{f.name: f.metadata["parse"](configuration.get(f.metadata["name"])) for f in fields(cls)})

    @property
    def is_mapped(self) -> bool:
        """Whether columns are mapped, by name or by id."""
        return self.mapping_mode is not MappingMode.NONE

    @property
    def has_dropped_or_renamed(self) -> bool:
        """Whether the table says that a column was dropped or renamed."""
        return self.dropped_or_renamed == "true"

    @property
    def materialized_columns(self) -> tuple[str, ...]:
        """The columns of data files in which row tracking keeps ids and commit versions of moved rows."""
        return tuple(filter(None, (self.row_id_column, self.row_commit_version_column)))
