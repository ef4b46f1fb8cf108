"""Features about columns: names, values, types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta import table_properties as properties
from airflow_delta_provider.domain.delta.data_type import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_PRECISION,
    SHORT,
    TIMESTAMP_NTZ,
    Column,
    DataType,
    DecimalType,
    PrimitiveType,
    all_columns,
    sql_name,
)
from airflow_delta_provider.domain.delta.features.feature import (
    Domains,
    Feature,
    FeatureAccess,
    FeatureKind,
    Removal,
    Rewrites,
)
from airflow_delta_provider.domain.delta.features.log import named_by_files
from airflow_delta_provider.domain.delta.metadata import (
    CURRENT_DEFAULT,
    Metadata,
    field_metadata,
    is_plain_name,
)

KEY = "delta.identity"
START = f"{KEY}.start"
STEP = f"{KEY}.step"
HIGH_WATER_MARK = f"{KEY}.highWaterMark"
ALLOW_EXPLICIT_INSERT = f"{KEY}.allowExplicitInsert"


class Identity(NamedTuple):
    """The values of an identity column that accepts no explicit ones.

    :param start: first value
    :param step: difference between consecutive values; not 0
    :param mark: last assigned value, None before the first
    """

    start: int
    step: int
    mark: int | None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Identity | None:
        """Read the metadata of a column; None unless it is an identity column that accepts no explicit values."""
        start, step, mark = map(metadata.get, (START, STEP, HIGH_WATER_MARK))
        if metadata.get(ALLOW_EXPLICIT_INSERT) is not False or type(start) is not int or type(step) is not int:
            return None
        return cls(start, step, mark) if step and (mark is None or type(mark) is int) else None

    def in_order(self, least: int, most: int) -> tuple[int, int]:
        """Return the bounds of values in the order of assignment."""
        return (least, most) if self.step > 0 else (most, least)

    def has_assigned(self, value: int) -> bool:
        """Return True if a value of the column is not past the high water mark."""
        return self.mark is not None and (value - self.mark) * self.step <= 0


def _constraints(metadata: Metadata) -> Iterator[str]:
    return (f"The CHECK constraint {name}" for name in metadata.check_constraints)


def _has_constraints(metadata: Metadata, _: Domains) -> str | None:
    if not metadata.check_constraints:
        return None
    constraints = ", ".join(sorted(metadata.check_constraints))
    return f"the table has CHECK constraints: {constraints}. Run ALTER TABLE … DROP CONSTRAINT first."


def enforced_columns(metadata: Metadata) -> Iterator[Column]:
    """Yield the NOT NULL columns and fields of structs, except within arrays or maps.

    Delta Spark treats them as invariants: ``Invariants.getFromSchema`` of v4.4.0.
    """
    for column in metadata.readable_columns or ():
        if set(column.kinds) == {"field"} and not column.field.nullable:
            yield column


INVARIANTS = Feature(
    name="invariants",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Column Invariants",
    legacy_writer=2,
    field_key="delta.invariants",
    instead_of_removal="ALTER TABLE … ALTER COLUMN … DROP NOT NULL ends invariants; the feature stays.",
)
CHECK_CONSTRAINTS = Feature(
    name="checkConstraints",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, CHECK Constraints",
    legacy_writer=3,
    used_by=_constraints,
    removal=Removal(obstacle=_has_constraints),
)
GENERATED_COLUMNS = Feature(
    name="generatedColumns",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Generated Columns",
    legacy_writer=4,
    field_key="delta.generationExpression",
    instead_of_removal="Write the table again without generated columns.",
)
IDENTITY_COLUMNS = Feature(
    name="identityColumns",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Identity Columns",
    legacy_writer=6,
    field_key=START,
    instead_of_removal="Write the table again without identity columns.",
)
ALLOW_COLUMN_DEFAULTS = Feature(
    name="allowColumnDefaults",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Default Columns",
    field_key=CURRENT_DEFAULT,
)


def _unreachable(value: str, metadata: Metadata) -> str | None:
    """Return the reason why no engine can change the mode to ``value``; None if one can.

    Files lack the ids that mode id needs.
    """
    current = metadata.configuration.get(properties.COLUMN_MAPPING_MODE, properties.MappingMode.NONE.value)
    if value.lower() in ("name", current.lower()):
        return None
    return (
        f"column mapping mode {value!r} cannot be reached from {current!r} on an existing table; only 'name' can be "
        "enabled."
    )


def _obstacle(metadata: Metadata, domains: Domains) -> str | None:
    if name := needs_mapping(metadata):
        return f"without it no column may be called {name!r}. Rename the column first."
    if columns := named_by_files(metadata, domains):
        return (
            f"the table is clustered by {', '.join(columns)}, by names that only column mapping knows. ALTER TABLE … "
            "CLUSTER BY NONE first; afterwards CLUSTER BY the columns again."
        )
    return None


def needs_mapping(metadata: Metadata) -> str | None:
    """Return the name of a column that is legal only with column mapping; None if there is none."""
    names = (column.field.name for column in all_columns(metadata.schema))
    return next((name for name in names if not is_plain_name(name)), None)


COLUMN_MAPPING = Feature(
    name="columnMapping",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Column Mapping",
    legacy_reader=2,
    legacy_writer=5,
    enabling_property=properties.COLUMN_MAPPING_MODE,
    enabled_values=("name", "id"),
    unreachable=_unreachable,
    writer_owned=(properties.MAX_COLUMN_ID,),
    removal=Removal(
        rewrites=Rewrites.ALL,
        commits=1,
        protects=True,
        leaves="Streams that read the table fail once, and have to be started again.",
        obstacle=_obstacle,
        in_metadata=lambda metadata: metadata.properties.is_mapped,
        left_in_metadata=lambda metadata: any(field.is_mapped for field in metadata.mapped_schema.fields),
    ),
)
USAGE_TRACKING = Feature(
    name="columnMappingUsageTracking",
    kind=FeatureKind.WRITER,
    source="RFC Column Mapping Usage Tracking, delta-io/delta#2682",
    requires_in_engines=(COLUMN_MAPPING,),
    writer_owned=(properties.DROPPED_OR_RENAMED,),
    removal=Removal(without_sql=True),
)


TYPE_CHANGES_KEY = "delta.typeChanges"

_WIDER: dict[DataType, tuple[DataType, ...]] = {
    BYTE: (SHORT, INTEGER, LONG, DOUBLE),
    SHORT: (INTEGER, LONG, DOUBLE),
    INTEGER: (LONG, DOUBLE),
    FLOAT: (DOUBLE,),
    DATE: (TIMESTAMP_NTZ,),
}
#: Digits before the point that a decimal needs for every value of the integer type.
_DECIMAL_DIGITS: dict[DataType, int] = {BYTE: 10, SHORT: 10, INTEGER: 10, LONG: 20}


def can_widen(old: DataType, new: DataType) -> bool:
    """Return True if changing ``old`` to ``new`` is a supported widening; False for the same type."""
    if old == new:
        return False
    if isinstance(new, DecimalType):
        digits = new.precision - new.scale
        if isinstance(old, DecimalType):
            return new.scale >= old.scale and digits >= old.precision - old.scale
        return old in _DECIMAL_DIGITS and digits >= _DECIMAL_DIGITS[old]
    return new in _WIDER.get(old, ())


def legal_targets(old: DataType) -> str:
    """Return the types that ``old`` may be widened to, for people; empty if there are none."""
    targets = [sql_name(wider) for wider in _WIDER.get(old, ())]
    if old in _DECIMAL_DIGITS:
        digits = _DECIMAL_DIGITS[old]
        targets.append(f"decimal(p,s) with p - s >= {digits}")
    if isinstance(old, DecimalType) and old.precision < MAX_PRECISION:
        digits = old.precision - old.scale
        targets.append(f"decimal(p,s) with s >= {old.scale} and p - s >= {digits}")
    return ", ".join(targets)


def allowed_with_iceberg(old: DataType, new: DataType) -> bool:
    """Return True if a table with Iceberg compatibility V1 or V2 allows this widening.

    Not allowed are integer to double, date to timestamp, integer to decimal, and a larger scale.
    """
    if isinstance(new, DecimalType):
        return isinstance(old, DecimalType) and old.scale == new.scale
    return new not in (TIMESTAMP_NTZ,) and (new != DOUBLE or old == FLOAT)


class TypeChange(NamedTuple):
    """One entry of ``delta.typeChanges``; types are named as in the schema's JSON."""

    from_type: str
    to_type: str
    field_path: str | None = None

    @classmethod
    def of(cls, column: Column, new: DataType) -> TypeChange:
        """Create the entry that changing ``column`` to ``new`` must leave."""
        return cls(str(column.data_type), str(new), ".".join(column.field_path) or None)

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TypeChange:
        """Read an entry; ``tableVersion``, left by the preview feature, is ignored."""
        return cls(_normal(wire["fromType"]), _normal(wire["toType"]), wire.get("fieldPath"))


def recorded_changes(metadata: Mapping[str, Any]) -> tuple[TypeChange, ...]:
    """Return the changes that a field's metadata records, oldest first.

    :raises ValueError: if the record is malformed
    """
    recorded = metadata.get(TYPE_CHANGES_KEY, ())
    try:
        return tuple(TypeChange.from_json(entry) for entry in recorded)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{TYPE_CHANGES_KEY} is malformed: {recorded!r}") from error


def _normal(name: str) -> str:
    return name.replace(" ", "")


_SHREDDING = "delta.enableVariantShredding"
_GEOSPATIAL_TYPES = ("geometry", "geography")


def records_types(metadata: Metadata) -> bool:
    """Return True if any column records types that it had before."""
    return any(TYPE_CHANGES_KEY in field_metadata(column.field) for column in all_columns(metadata.schema))


def _geospatial_columns(metadata: Metadata) -> list[str]:
    return [
        str(column) for column in all_columns(metadata.schema) if str(column.data_type).startswith(_GEOSPATIAL_TYPES)
    ]


def _geospatial_uses(metadata: Metadata) -> Iterator[str]:
    for column in metadata.readable_columns or ():
        if str(column.data_type).startswith(_GEOSPATIAL_TYPES):
            yield f"The column {column} of the type {column.data_type}"


def _has_geospatial_columns(metadata: Metadata, _: Domains) -> str | None:
    columns = _geospatial_columns(metadata)
    return f"the table has geospatial columns: {', '.join(columns)}. Drop them first." if columns else None


TYPE_WIDENING = Feature(
    name="typeWidening",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Type Widening",
    enabling_property=properties.ENABLE_TYPE_WIDENING,
    removal=Removal(
        rewrites=Rewrites.OF_OTHER_TYPES,
        commits=3,
        protects=True,
        in_metadata=records_types,
        left_in_metadata=lambda metadata: metadata.properties.type_widening,
    ),
)
TYPE_WIDENING_PREVIEW = replace(
    TYPE_WIDENING, name="typeWidening-preview", source="RFC type-widening.md", access=FeatureAccess.SPECIAL
)
TIMESTAMP_NTZ_FEATURE = Feature(
    name="timestampNtz",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Timestamp without timezone (TimestampNtz)",
    aliases=("timestampWithoutTimezone",),
    column_type=TIMESTAMP_NTZ,
)
VARIANT_TYPE = Feature(
    name="variantType",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Variant Data Type",
    column_type=PrimitiveType("variant"),
)
VARIANT_TYPE_PREVIEW = Feature(
    name="variantType-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    access=FeatureAccess.SPECIAL,
)
VARIANT_SHREDDING = Feature(
    name="variantShredding",
    kind=FeatureKind.READER_WRITER,
    source="PROTOCOL.md, Variant Shredding",
    requires=(VARIANT_TYPE,),
    enabling_property=_SHREDDING,
    asked_by_name=True,
)
VARIANT_SHREDDING_PREVIEW = Feature(
    name="variantShredding-preview",
    kind=FeatureKind.READER_WRITER,
    source="TableFeature.scala",
    enabling_property=_SHREDDING,
    access=FeatureAccess.SPECIAL,
)
COLLATIONS = Feature(
    name="collations",
    kind=FeatureKind.WRITER,
    source="RFC collated-string-type.md",
    field_key="__COLLATIONS",
    is_judged=False,
)
COLLATIONS_PREVIEW = replace(COLLATIONS, name="collations-preview", access=FeatureAccess.SPECIAL, field_key="")
TIMESTAMP_NANOS = Feature(
    name="timestampNanos",
    kind=FeatureKind.READER_WRITER,
    source="RFC nanosecond-timestamps.md",
    requires_in_engines=(TIMESTAMP_NTZ_FEATURE,),
    is_judged=False,
)
GEOSPATIAL = Feature(
    name="geospatial",
    kind=FeatureKind.READER_WRITER,
    source="RFC geospatial-types.md",
    used_by=_geospatial_uses,
    is_judged=False,
    removal=Removal(
        since=(4, 3),
        protects=True,
        obstacle=_has_geospatial_columns,
        left_in_metadata=lambda metadata: bool(_geospatial_columns(metadata)),
    ),
)
GEOSPATIAL_DEV = replace(GEOSPATIAL, name="geospatial-dev", access=FeatureAccess.SPECIAL, used_by=None)
