"""The record of one table feature, and the values in it.

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

#: Domain metadata: configuration (JSON string) by domain.
Domains = Mapping[str, str]

_PREVIEW_SUFFIXES = ("-preview", "-dev")


class FeatureKind(Enum):
    """The engines that must support a feature."""

    WRITER = "writer"
    READER_WRITER = "reader and writer"
    UNKNOWN = "unknown"


class FeatureAccess(Enum):
    """The way to request a feature."""

    OPEN = "open"
    SPECIAL = "only with allow_special"
    OTHER_WAY = "not by a property"


class Rewrites(Enum):
    """The data files that a drop rewrites."""

    NONE = "no files"
    WITH_VECTORS = "files with deletion vectors, and with columns that were dropped"
    OF_OTHER_TYPES = "files with other types than the columns have"
    ALL = "all files"


@dataclass(frozen=True, kw_only=True)
class Removal:
    """The removal of a feature, and the traces that show that a table still uses it.

    From ``TableFeature.scala`` and ``PreDowngradeTableFeatureCommand.scala`` of Delta Spark v4.4.0, and measured with
    it. Dropping a reader-writer feature protects the history that still has traces of it with ``checkpointProtection``,
    unless that history is truncated.

    :param since: first Delta Spark release whose DROP FEATURE supports it
    :param rewrites: data files that the drop rewrites
    :param commits: number of commits before the one that drops it, without the empty commits of checkpoints
    :param protects: True if history keeps traces that must be protected or truncated
    :param only_truncating: True if it can be dropped only by truncating history
    :param without_sql: True if no SQL can drop it, only a commit of this provider
    :param loses_row_ids: True if row ids lose their identity
    :param leaves: sentence about things that stay behind or are lost
    :param obstacle: function that returns a sentence about the decision that people must make before the drop; None if
        there is nothing to decide
    :param in_metadata: function that returns True if metadata is a trace of it; history must not have any
    :param in_action: function that returns True if an action of the log is a trace of it; history must not have any
    :param last_trace: function that returns the last version with traces, if the newest metadata contains it
    :param left_in_metadata: function that returns True if metadata contains, besides traces, things that the drop
        removes
    :param left_in_file: function that returns True if a live file contains things that the drop removes
    :param left_in_domains: function that returns True if domain metadata contains things that the drop removes
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
        """Return True if TRUNCATE HISTORY has an effect on its removal."""
        return self.protects or self.only_truncating


@dataclass(frozen=True, kw_only=True)
class Feature:
    """All facts about one table feature.

    :param name: name in ``readerFeatures`` and ``writerFeatures``
    :param kind: engines that must support it
    :param source: place of its specification; features that only Delta Spark lists are in its ``TableFeature.scala`` at
        v4.4.0
    :param legacy_reader: reader version that implies it, or None
    :param legacy_writer: writer version that implies it, or None
    :param requires: features that PROTOCOL.md requires with it
    :param requires_in_engines: features that only Delta Spark, or an RFC, requires with it
    :param aliases: other names that some writers list for it
    :param enabling_property: table property that enables it; None if being supported is all there is
    :param enabled_values: values of ``enabling_property`` that enable it, starting with the one that this provider sets
    :param suspending_property: table property that suspends it while it is true
    :param unreachable: function that returns the reason why a value of ``enabling_property`` cannot be set on a table;
        None if it can
    :param asked_by_name: True if the property alone makes Delta Spark list the feature's preview
    :param access: way to request it
    :param instead: instruction for features that are not requested by a property
    :param incomplete_file: function that returns True if a live file lacks something that each file has once the
        feature is enabled
    :param field_key: key in a column's metadata that uses it
    :param column_type: type of a column that uses it
    :param used_by: function that yields other things in the metadata that use it, each as the beginning of a sentence
    :param writer_owned: properties that only writers may set; setting one directly breaks the table
    :param catalog_managed: True if tables are read and written through a catalog, not through their directory
    :param keeps_iceberg: True if the table is also kept as an Iceberg table
    :param widening: function that returns True for changes of types that it still allows; None if it allows all
    :param is_judged: False if no rule judges a table by the requirements of the feature
    :param removal: way to drop it; None if no Delta release can drop it
    :param instead_of_removal: instruction to follow instead of dropping it; empty for the usual
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
    is_judged: bool = True

    def __str__(self) -> str:
        return self.name

    @classmethod
    def unknown(cls, name: str) -> Feature:
        """Create the record of an unlisted feature.

        A preview, recognised by its name, needs ``allow_special``.
        """
        preview = name.casefold().endswith(_PREVIEW_SUFFIXES[0])
        return cls(
            name=name,
            kind=FeatureKind.UNKNOWN,
            source="",
            access=FeatureAccess.SPECIAL if preview else FeatureAccess.OPEN,
        )

    @property
    def is_legacy(self) -> bool:
        """Return True if a protocol version below table features can imply it."""
        return self.legacy_writer is not None

    @property
    def is_specified(self) -> bool:
        """Return True if PROTOCOL.md specifies it, not only an RFC or an engine."""
        return self.source.startswith("PROTOCOL.md")

    @property
    def support_property(self) -> str:
        """The property that makes Delta Spark list the feature in the protocol."""
        return f"{SUPPORT_PREFIX}{self.name}"

    @property
    def all_required(self) -> tuple[Feature, ...]:
        """The features that must be supported with it, required by PROTOCOL.md, an RFC or an engine."""
        return self.requires + self.requires_in_engines

    def is_alias(self, name: str) -> bool:
        """Return True if some writers list the feature under ``name``, in any case."""
        return name.casefold() in map(str.casefold, self.aliases)

    def is_enabling(self, value: str | None) -> bool:
        """Return True if ``value`` of the feature's property enables it, in any case."""
        return value is not None and value.lower() in self.enabled_values

    def is_enabled_by(self, metadata: Metadata) -> bool:
        """Return True if the feature's property enables it, regardless of the protocol."""
        return self.enabling_property is not None and self.is_enabling(
            metadata.configuration.get(self.enabling_property)
        )


#: Prefix of properties that request features by name.
SUPPORT_PREFIX = "delta.feature."


def stable_name(name: str) -> str:
    """Return the name that a feature has, or will have, without the suffix of a preview."""
    for suffix in _PREVIEW_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
