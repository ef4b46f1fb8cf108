"""What is known about one table feature: the record that each feature has, and the values in it.

The engine-side model is ``FeatureInfo`` of delta-kernel-rs. PROTOCOL.md, Table Features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.data_type import DataType
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata

#: Domain metadata: configuration (JSON text) by domain.
Domains = Mapping[str, str]

_PREVIEW_SUFFIXES = ("-preview", "-dev")


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


class Rewrites(Enum):
    """Which data files a drop rewrites."""

    NONE = "no files"
    WITH_VECTORS = "files with deletion vectors, and with columns that were dropped"
    OF_OTHER_TYPES = "files with other types than the columns have"
    ALL = "all files"


@dataclass(frozen=True, kw_only=True)
class Removal:
    """How a feature is dropped, and what shows that a table still uses it.

    From ``TableFeature.scala`` and ``PreDowngradeTableFeatureCommand.scala`` of Delta Spark v4.4.0, and measured with
    it. A drop of a reader-writer feature protects the history that still has traces of it, by
    ``checkpointProtection``, unless that history is truncated.

    :param since: first Delta Spark release whose DROP FEATURE takes it
    :param rewrites: which data files the drop rewrites
    :param commits: commits before the one that drops it, without the empty ones of checkpoints
    :param protects: whether history keeps traces that have to be protected, or truncated
    :param only_truncating: whether it can be dropped by truncating history only
    :param without_sql: whether no SQL can drop it, but a commit of this provider
    :param loses_row_ids: whether row ids lose their identity
    :param leaves: what stays behind, or is lost, in a sentence
    :param obstacle: what people have to decide before it can go, in a sentence; None where nothing
    :param in_metadata: whether metadata is a trace of it; history must not have any
    :param in_action: whether an action of the log is a trace of it; history must not have any
    :param last_trace: the last version with traces, from the newest metadata, where that says it
    :param left_in_metadata: whether metadata has what the drop removes, in addition to traces
    :param left_in_file: whether a live file has what the drop removes
    :param left_in_domains: whether domain metadata has what the drop removes
    """

    since: tuple[int, ...] = (4, 0)
    rewrites: Rewrites = Rewrites.NONE
    commits: int = 0
    protects: bool = False
    only_truncating: bool = False
    without_sql: bool = False
    loses_row_ids: bool = False
    leaves: str = ""
    obstacle: Callable[[Metadata, Domains], str | None] | None = None
    in_metadata: Callable[[Metadata], bool] | None = None
    in_action: Callable[[Mapping[str, Any]], bool] | None = None
    last_trace: Callable[[Metadata], int | None] | None = None
    left_in_metadata: Callable[[Metadata], bool] | None = None
    left_in_file: Callable[[LiveFile], bool] | None = None
    left_in_domains: Callable[[Domains], bool] | None = None

    @property
    def truncates(self) -> bool:
        """Whether TRUNCATE HISTORY means anything to it."""
        return self.protects or self.only_truncating


@dataclass(frozen=True, kw_only=True)
class Feature:
    """All that is known about one table feature.

    :param name: name in ``readerFeatures`` and ``writerFeatures``
    :param kind: whom it concerns
    :param source: where it is specified; what only Delta Spark lists is in its ``TableFeature.scala`` at v4.4.0
    :param legacy_reader: reader version that implies it, or None
    :param legacy_writer: writer version that implies it, or None
    :param requires: features that PROTOCOL.md demands with it
    :param requires_in_engines: features that only Delta Spark, or an RFC, demands with it
    :param aliases: names under which some writers list it
    :param enabling_property: table property that enables it; None where supported is all there is
    :param enabled_values: values of ``enabling_property`` that enable it, first the one that this provider sets
    :param suspending_property: table property that suspends it while it is true
    :param unreachable: why a value of ``enabling_property`` cannot be set on a table; None where it can
    :param asked_by_name: the property alone makes Delta Spark list the feature's preview
    :param access: how it may be asked for
    :param instead: what to do instead, where it is not asked for by a property
    :param incomplete_file: whether a live file lacks what each has once the feature is enabled
    :param field_key: key in a column's metadata that makes use of it
    :param column_type: type of a column that makes use of it
    :param used_by: what else in the metadata makes use of it, each as the beginning of a sentence
    :param writer_owned: properties that writers keep for themselves; setting one directly breaks the table
    :param catalog_managed: tables are read and written through a catalog, not through their directory
    :param keeps_iceberg: the table is also kept as an Iceberg table
    :param widening: which changes of types it leaves allowed; None for all
    :param removal: how it is dropped; None where no Delta release can drop it
    :param instead_of_removal: what to do instead of dropping it; empty for the usual
    """

    name: str
    kind: FeatureKind
    source: str
    enabling_property: str | None = None
    removal: Removal | None = None
    legacy_reader: int | None = None
    legacy_writer: int | None = None
    requires: tuple[Feature, ...] = ()
    requires_in_engines: tuple[Feature, ...] = ()
    aliases: tuple[str, ...] = ()
    enabled_values: tuple[str, ...] = ("true",)
    suspending_property: str | None = None
    unreachable: Callable[[str, Metadata], str | None] | None = None
    asked_by_name: bool = False
    access: FeatureAccess = FeatureAccess.OPEN
    instead: str = ""
    incomplete_file: Callable[[LiveFile], bool] | None = None
    field_key: str = ""
    column_type: DataType | None = None
    used_by: Callable[[Metadata], Iterable[str]] | None = None
    writer_owned: tuple[str, ...] = ()
    catalog_managed: bool = False
    keeps_iceberg: bool = False
    widening: Callable[[DataType, DataType], bool] | None = None
    instead_of_removal: str = ""

    def __str__(self) -> str:
        return self.name

    @classmethod
    def unknown(cls, name: str) -> Feature:
        """A feature that is not listed here; a preview by its name is asked for as one."""
        preview = name.casefold().endswith(_PREVIEW_SUFFIXES[0])
        return cls(
            name=name,
            kind=FeatureKind.UNKNOWN,
            source="",
            access=FeatureAccess.SPECIAL if preview else FeatureAccess.OPEN,
        )

    @property
    def is_legacy(self) -> bool:
        """Whether a protocol version below table features can imply it."""
        return self.legacy_writer is not None

    @property
    def is_specified(self) -> bool:
        """Whether PROTOCOL.md specifies it, rather than an RFC or an engine alone."""
        return self.source.startswith("PROTOCOL.md")

    @property
    def support_property(self) -> str:
        """The property that makes Delta Spark list the feature in the protocol."""
        return f"{SUPPORT_PREFIX}{self.name}"

    @property
    def all_required(self) -> tuple[Feature, ...]:
        """The features that have to be supported with it, whatever demands it."""
        return self.requires + self.requires_in_engines

    def who_is_locked_out(self, writers: Iterable[str]) -> str:
        """Return who can no longer write a table that has the feature, in a sentence.

        :param writers: who wrote the table recently
        """
        from airflow_delta_provider.domain.engine.lockout import who_is_locked_out  # late: profiles of all engines

        return who_is_locked_out(self.name, writers)

    def is_alias(self, name: str) -> bool:
        """Whether some writers list the feature under ``name``, in any case."""
        return name.casefold() in map(str.casefold, self.aliases)

    def is_enabling(self, value: str | None) -> bool:
        """Whether ``value`` of the feature's property puts it in force, in any case."""
        return value is not None and value.lower() in self.enabled_values

    def is_enabled_by(self, metadata: Metadata) -> bool:
        """Whether the feature's property puts it in force, whatever the protocol supports."""
        return self.enabling_property is not None and self.is_enabling(
            metadata.configuration.get(self.enabling_property)
        )


#: Begins the properties by which features are asked for by name.
SUPPORT_PREFIX = "delta.feature."


def stable_name(name: str) -> str:
    """Return the name that a feature has, or will have, when it is not a preview."""
    for suffix in _PREVIEW_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
