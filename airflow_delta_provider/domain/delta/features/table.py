"""Table features: one static entry each, and everything asked of them is a look into that table.

PROTOCOL.md, Table Features and Valid Feature Names; the property that enables each from its own
section; kinds of features that only Delta Spark lists from its ``TableFeature.scala`` at v4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class FeatureKind(Enum):
    """Whom a feature concerns."""

    WRITER = "writer"
    READER_WRITER = "reader and writer"
    UNKNOWN = "unknown"


class FeatureAccess(Enum):
    """How a feature may be asked for."""

    OPEN = "open"
    SPECIAL = "only with allow_special"
    OTHER_WAY = "not by a property"


@dataclass(frozen=True)
class Feature:
    """What is known about one table feature.

    :param name: name in ``readerFeatures`` and ``writerFeatures``
    :param kind: whom it concerns
    :param legacy_reader: reader version that implies it, or None
    :param legacy_writer: writer version that implies it, or None
    :param requires: features that have to be supported with it
    :param enabling_property: table property that enables it; None where supported is all there is
    :param enabled_value: value of ``enabling_property`` that enables it
    :param asked_by_name: the property alone makes Delta Spark list the feature's preview
    :param access: how it may be asked for
    :param instead: what to do instead, where it is not asked for by a property
    """

    name: str
    kind: FeatureKind
    legacy_reader: int | None = None
    legacy_writer: int | None = None
    requires: tuple[str, ...] = ()
    enabling_property: str | None = None
    enabled_value: str = "true"
    asked_by_name: bool = False
    access: FeatureAccess = FeatureAccess.OPEN
    instead: str = ""

    @classmethod
    def unknown(cls, name: str) -> Feature:
        """A feature that this table does not list."""
        return cls(name, FeatureKind.UNKNOWN)

    @property
    def is_legacy(self) -> bool:
        """Whether a protocol version below table features can imply it."""
        return self.legacy_writer is not None

    @property
    def support_property(self) -> str:
        """The property that makes Delta Spark list the feature in the protocol."""
        return f"delta.feature.{self.name}"


_W, _RW = FeatureKind.WRITER, FeatureKind.READER_WRITER
_SPECIAL = FeatureAccess.SPECIAL

_TABLE = (
    Feature("appendOnly", _W, legacy_writer=2, enabling_property="delta.appendOnly"),
    Feature("invariants", _W, legacy_writer=2),
    Feature("checkConstraints", _W, legacy_writer=3),
    Feature("changeDataFeed", _W, legacy_writer=4, enabling_property="delta.enableChangeDataFeed"),
    Feature("generatedColumns", _W, legacy_writer=4),
    Feature(
        "columnMapping",
        _RW,
        legacy_reader=2,
        legacy_writer=5,
        enabling_property="delta.columnMapping.mode",
        enabled_value="name",
    ),
    Feature("identityColumns", _W, legacy_writer=6),
    Feature("allowColumnDefaults", _W),
    Feature("deletionVectors", _RW, enabling_property="delta.enableDeletionVectors"),
    Feature("domainMetadata", _W),
    Feature("rowTracking", _W, requires=("domainMetadata",), enabling_property="delta.enableRowTracking"),
    Feature("timestampNtz", _RW),
    Feature("typeWidening", _RW, enabling_property="delta.enableTypeWidening"),
    Feature("typeWidening-preview", _RW, enabling_property="delta.enableTypeWidening", access=_SPECIAL),
    Feature("v2Checkpoint", _RW, enabling_property="delta.checkpointPolicy", enabled_value="v2"),
    Feature("vacuumProtocolCheck", _RW),
    Feature("inCommitTimestamp", _W, enabling_property="delta.enableInCommitTimestamps"),
    Feature(
        "inCommitTimestamp-preview", _W, enabling_property="delta.enableInCommitTimestamps-preview", access=_SPECIAL
    ),
    Feature(
        "clustering",
        _W,
        requires=("domainMetadata",),
        access=FeatureAccess.OTHER_WAY,
        instead="Clustering is chosen by its columns: run ALTER TABLE … CLUSTER BY (…), which brings the feature.",
    ),
    Feature("materializePartitionColumns", _W, enabling_property="delta.enableMaterializePartitionColumnsFeature"),
    Feature(
        "icebergCompatV1",
        _W,
        requires=("columnMapping",),
        enabling_property="delta.enableIcebergCompatV1",
        access=_SPECIAL,
    ),
    Feature(
        "icebergCompatV2",
        _W,
        requires=("columnMapping",),
        enabling_property="delta.enableIcebergCompatV2",
        access=_SPECIAL,
    ),
    Feature(
        "icebergCompatV3",
        _W,
        requires=("columnMapping", "rowTracking"),
        enabling_property="delta.enableIcebergCompatV3",
        access=_SPECIAL,
    ),
    Feature("catalogManaged", _RW, requires=("inCommitTimestamp", "vacuumProtocolCheck"), access=_SPECIAL),
    Feature("catalogOwned-preview", _RW, requires=("inCommitTimestamp", "vacuumProtocolCheck"), access=_SPECIAL),
    Feature("coordinatedCommits-preview", _W, requires=("inCommitTimestamp", "vacuumProtocolCheck"), access=_SPECIAL),
    Feature("checkpointProtection", _W, access=_SPECIAL),
    Feature("variantType", _RW),
    Feature("variantType-preview", _RW, access=_SPECIAL),
    Feature(
        "variantShredding",
        _RW,
        requires=("variantType",),
        enabling_property="delta.enableVariantShredding",
        asked_by_name=True,
    ),
    Feature("variantShredding-preview", _RW, enabling_property="delta.enableVariantShredding", access=_SPECIAL),
    Feature("geospatial", _RW),
    Feature("geospatial-dev", _RW, access=_SPECIAL),
    Feature(
        "adaptiveMetadata-preview",
        _RW,
        requires=("deletionVectors", "catalogManaged", "rowTracking", "columnMapping"),
        access=_SPECIAL,
    ),
    Feature("columnMappingUsageTracking", _W, requires=("columnMapping",)),
)

FEATURES: dict[str, Feature] = {feature.name: feature for feature in _TABLE}
_BY_FOLDED_NAME = {feature.name.casefold(): feature for feature in _TABLE}

#: Features whose tables are read and written through a catalog, not through their directory.
CATALOG_MANAGED = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")

#: Properties that writers keep for themselves; setting one by hand breaks the table.
WRITER_OWNED_PROPERTIES = (
    "delta.columnMapping.maxColumnId",
    "delta.columnMapping.hasDroppedOrRenamed",
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.requireCheckpointProtectionBeforeVersion",
    "delta.rowTrackingSuspended",
)

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


def feature_named(name: str) -> Feature:
    """Return the feature of that name, in any case; a name that is not listed is an unknown feature."""
    known = _BY_FOLDED_NAME.get(name.casefold())
    if known is not None:
        return known
    access = _SPECIAL if name.casefold().endswith("-preview") else FeatureAccess.OPEN
    return Feature(name, FeatureKind.UNKNOWN, access=access)


def with_requirements(names: frozenset[str]) -> frozenset[str]:
    """Return ``names`` with all that they require, directly or not."""
    closed = set(names)
    pending = list(names)
    while pending:
        for required in feature_named(pending.pop()).requires:
            if required not in closed:
                closed.add(required)
                pending.append(required)
    return frozenset(closed)
