"""Timestamps in data files: DF11, which the check of files against the schema finds.

PROTOCOL.md, Primitive Types; parquet-format, ``LogicalTypes.md``, Timestamp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.checks.data_files.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.checks.type_widening.data import UNREACHABLE_TYPE
from airflow_delta_provider.domain.delta.data_type import DataType
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, SchemaElement
from airflow_delta_provider.domain.report.verdict import Severity

OTHER_TIMESTAMP = FAMILY.of(Scope.DATA).error(
    11,
    "timestamps stored with the wrong isAdjustedToUTC",
    effect="Spark before 4.0 refuses to read the column, and readers that go by the type in the file take local times "
    "for instants.",
    remedy="Rewrite the file with an engine that writes isAdjustedToUTC as the protocol says, for example with an "
    "UPDATE in Delta Spark 4 that leaves its rows as they are.",
    source="PROTOCOL.md, Primitive Types",
    follows_from=UNREACHABLE_TYPE.follows_from,
)
#: What ``isAdjustedToUTC`` has to be in files.
_ADJUSTED = {"timestamp": True, "timestamp_ntz": False}
#: Trino writes timestamps so, and Spark and deltalake read them right.
_HARMLESS: Mapping[str, Any] = {
    "severity": Severity.WARNING,
    "effect": "Delta Spark and deltalake read the values right; readers that go by the type in the file take instants "
    "for local times.",
}


def is_other_timestamp(element: SchemaElement, data_type: DataType) -> bool:
    """Whether a leaf says of its timestamps that they are instants and they are not by their type, or vice versa.

    Files that do not state ``isAdjustedToUTC`` say nothing: those with INT96, or with the converted type alone.
    """
    logical, adjusted = element.logical_type, _ADJUSTED.get(str(data_type))
    if logical is None or logical.kind is not LogicalKind.TIMESTAMP or logical.inferred or adjusted is None:
        return False
    return logical.adjusted_to_utc is (not adjusted)


def other_timestamp(data_type: DataType) -> tuple[str, Mapping[str, Any]]:
    """Return the evidence of a finding about a column of that type, and what else it says."""
    adjusted = _ADJUSTED[str(data_type)]
    evidence = "{path} stores {column}, a {type}, with isAdjustedToUTC {stored}; it must be {adjusted}."
    stored, right = (str(value).lower() for value in (not adjusted, adjusted))
    return evidence, {"type": str(data_type), "stored": stored, "adjusted": right, **(_HARMLESS if adjusted else {})}
