"""What a table must not have while it is kept compatible with Apache Iceberg: TF25.

PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2. TW13 checks changes of types, and TF08 that column mapping
is supported.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.protocol.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.features.data_files import DELETION_VECTORS
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

#: Types that Iceberg, as these versions write it, does not have.
_FOREIGN_TYPES = ("void", "null", "variant", "geometry", "geography")

NOT_ICEBERG_COMPATIBLE = FAMILY.of(Scope.STATE).error(
    25,
    "table incompatible with Iceberg, though it has to be",
    effect="The table cannot be converted for Iceberg readers, which see an old version of it or wrong rows, and Delta "
    "writers refuse to write.",
    remedy="Remove what is incompatible, or set delta.enableIcebergCompatV1 or -V2 to false.",
    source="PROTOCOL.md, Iceberg Compatibility V1 and V2",
    follows_from=causes("TF11", "TF12"),
    shows="metaData",
)


@on_state(NOT_ICEBERG_COMPATIBLE)
def _incompatible(state: TableState) -> Iterator[Finding]:
    for compat in (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2):
        wrong = dict(_incompatible_with(compat, state)) if _is_active(state, compat) else {}
        if wrong:
            yield NOT_ICEBERG_COMPATIBLE.found(
                "{subject} is enabled, but {what}.",
                subject=compat.name,
                what=Prose(", ".join(wrong.values())),
                incompatible=list(wrong),
            )


def _incompatible_with(compat: Feature, state: TableState) -> Iterator[tuple[str, str]]:
    """Yield what is incompatible: the feature or column, and a clause about it."""
    if not state.metadata.properties.is_mapped:
        yield COLUMN_MAPPING.name, "the column mapping mode is none"
    if compat == ICEBERG_COMPAT_V2 and _is_active(state, ICEBERG_COMPAT_V1):
        yield ICEBERG_COMPAT_V1.name, f"{ICEBERG_COMPAT_V1} is enabled, too"
    if state.protocol.supports(DELETION_VECTORS) and (
        compat == ICEBERG_COMPAT_V1 or state.metadata.properties.deletion_vectors
    ):
        enabled = "deletion vectors are enabled" if compat == ICEBERG_COMPAT_V2 else "the protocol has deletionVectors"
        yield DELETION_VECTORS.name, enabled
    for column in state.metadata.readable_columns or ():
        nested = compat == ICEBERG_COMPAT_V1 and isinstance(column.data_type, (ArrayType, MapType))
        if nested or str(column.data_type).startswith(_FOREIGN_TYPES):
            yield f"{column}: {column.data_type}", f"the column {column} is of the type {column.data_type}"
            return


def _is_active(state: TableState, compat: Feature) -> bool:
    return is_active(compat, state.protocol, state.metadata)
