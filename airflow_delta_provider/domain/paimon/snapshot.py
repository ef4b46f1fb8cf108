"""Snapshots: the states of a table after its commits.

Apache Paimon, Specification, Snapshot. A tag is a copy of its snapshot, with more keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, map_of, parse_json, text_of
from airflow_delta_provider.domain.paimon.manifest import ManifestEntry, ManifestFile
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError

#: Known versions of the format.
KNOWN_VERSIONS = range(1, 4)


@dataclass(frozen=True)
class ManifestListFile:
    """A manifest list, as named in a snapshot.

    :param name: its name in the directory of manifests
    :param size: size in bytes; None from writers before Paimon 1.1
    """

    name: str
    size: int | None


class PermittedChanges(NamedTuple):
    """The changes to rows that a commit permits itself by its kind and its operation.

    :param removed: True if rows may disappear
    :param added: True if new rows may appear; only they get new ids
    :param changed: True if rows may get other values, under their ids
    """

    removed: bool
    added: bool
    changed: bool


_ANYTHING = PermittedChanges(removed=True, added=True, changed=True)
#: Changes by the kind of a commit. Paimon commits as OVERWRITE if it removes a file or adds a deletion vector.
_BY_KIND = {
    "APPEND": PermittedChanges(removed=False, added=True, changed=True),
    "COMPACT": PermittedChanges(removed=False, added=False, changed=False),
    "ANALYZE": PermittedChanges(removed=False, added=False, changed=False),
}
_INSERT = PermittedChanges(removed=False, added=True, changed=False)
_REPLACE = PermittedChanges(removed=True, added=True, changed=False)
_DELETE = PermittedChanges(removed=True, added=False, changed=False)
#: Changes by the operation. MERGE may do all.
_BY_OPERATION = {
    "WRITE": _INSERT,
    "CREATE_TABLE_AS_SELECT": _INSERT,
    "OVERWRITE": _REPLACE,
    "REPLACE_TABLE_AS_SELECT": _REPLACE,
    "CREATE_OR_REPLACE_TABLE_AS_SELECT": _REPLACE,
    "UPDATE": PermittedChanges(removed=False, added=False, changed=True),
    "DELETE": _DELETE,
    "TRUNCATE": _DELETE,
}


@dataclass(frozen=True)
class Snapshot:
    """A table after a commit. Times are milliseconds since 1970.

    :param version: version of the file's format
    :param uuid: identifier that distinguishes it from another snapshot with the same id, as after a rollback; None from
        older writers
    :param base: manifests of the snapshot before, possibly merged
    :param delta: manifests of the files that the commit added and deleted
    :param changelog: manifests of the changelog; None if the commit wrote none
    :param index_manifest: name of the index manifest; None if the table has no index file
    :param commit_kind: ``APPEND``, ``COMPACT``, ``OVERWRITE``, ``ANALYZE``
    :param operation: operation of the user, such as ``MERGE``; None if the writer did not record it
    :param total_record_count: number of rows in all live files, ignoring deletion vectors
    :param next_row_id: first row id that is not assigned yet; 0 or None if rows are not tracked
    """

    version: int
    uuid: str | None
    id: int
    schema_id: int
    base: ManifestListFile
    delta: ManifestListFile
    changelog: ManifestListFile | None
    index_manifest: str | None
    commit_user: str
    commit_identifier: int
    commit_kind: str
    operation: str | None
    time_millis: int
    total_record_count: int | None
    delta_record_count: int | None
    changelog_record_count: int | None
    next_row_id: int | None
    watermark: int | None
    statistics: str | None
    writer_version: str | None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def permits(self) -> PermittedChanges:
        """The changes that its kind and its operation both permit."""
        kind = _BY_KIND.get(self.commit_kind, _ANYTHING)
        operation = _BY_OPERATION.get(self.operation or "", _ANYTHING)
        return PermittedChanges(*(one and other for one, other in zip(kind, operation)))

    @property
    def states_changes(self) -> bool:
        """Return True if its kind or operation limits the changes to rows; an OVERWRITE without operation does not."""
        return self.operation is not None or self.commit_kind in _BY_KIND

    @property
    def keeps_ids(self) -> bool:
        """Return True if it adds no rows, and so must not assign ids. Some compactions assign ids to old rows."""
        return self.commit_kind != "COMPACT" and not self.permits.added

    @property
    def name(self) -> str:
        """The operation, or else the kind, for messages."""
        return self.operation or f"A commit of kind {self.commit_kind} without operation"

    @property
    def is_branch_merge(self) -> bool:
        """Return True if it may result from ``sys.merge_branch``.

        No other writer commits with the identifier 0.
        """
        return self.commit_kind == "APPEND" and self.operation is None and self.commit_identifier == 0

    @classmethod
    def from_json(cls, text: str | bytes) -> Snapshot:
        """Read the file of a snapshot or of a tag.

        :raises PaimonFormatError: if it is not a snapshot
        """
        try:
            body = parse_json(text)
            if not isinstance(body, Mapping):
                raise ValueError("it is not a JSON object")
            base, delta = _manifest_list(body, "baseManifestList"), _manifest_list(body, "deltaManifestList")
            if base is None or delta is None:
                raise KeyError("baseManifestList" if base is None else "deltaManifestList")
            return cls(
                # Paimon began to write the version with 2.
                version=1 if body.get("version") is None else integer_of(body, "version", 32),
                uuid=_text_or_none(body, "uuid"),
                id=integer_of(body, "id"),
                schema_id=integer_of(body, "schemaId"),
                base=base,
                delta=delta,
                changelog=_manifest_list(body, "changelogManifestList"),
                index_manifest=_text_or_none(body, "indexManifest"),
                commit_user=text_of(body, "commitUser"),
                commit_identifier=integer_of(body, "commitIdentifier"),
                commit_kind=text_of(body, "commitKind"),
                operation=_text_or_none(body, "operation"),
                time_millis=integer_of(body, "timeMillis"),
                total_record_count=integer_or_none(body, "totalRecordCount"),
                delta_record_count=integer_or_none(body, "deltaRecordCount"),
                changelog_record_count=integer_or_none(body, "changelogRecordCount"),
                next_row_id=integer_or_none(body, "nextRowId"),
                watermark=integer_or_none(body, "watermark"),
                statistics=_text_or_none(body, "statistics"),
                writer_version=_text_or_none(body, "writerVersion"),
                properties={key: str(value) for key, value in map_of(body, "properties").items()},
            )
        except KeyError as error:
            raise PaimonFormatError(f"it is not a snapshot: it lacks {error}") from error
        except ValueError as error:
            raise PaimonFormatError(f"it is not a snapshot: {error}") from error


def _manifest_list(body: Mapping[str, Any], key: str) -> ManifestListFile | None:
    name = _text_or_none(body, key)
    return None if name is None else ManifestListFile(name, integer_or_none(body, f"{key}Size"))


def _text_or_none(body: Mapping[str, Any], key: str) -> str | None:
    return None if body.get(key) is None else text_of(body, key)


class DamageKind(Enum):
    """A kind of damage in a metadata file."""

    MISSING = "is missing"
    OTHER_SIZE = "has another size than is recorded"
    UNREADABLE = "cannot be read"
    CONTRADICTING = "contradicts itself"
    TOO_LARGE = "was not read"
    OUTSIDE = "must not be read"


@dataclass(frozen=True)
class Damage:
    """A metadata file that differs from its record, or cannot be read.

    :param path: path relative to the table
    :param detail: the sizes, or the reason why it cannot be read
    """

    path: str
    kind: DamageKind
    detail: str = ""

    @property
    def text(self) -> str:
        """The description of the damage, to follow the path."""
        return f"{self.kind.value}: {self.detail}" if self.detail else self.kind.value


@dataclass(frozen=True)
class Commit:
    """A snapshot and the files that it names.

    :param base: manifests of the table before the commit, possibly merged; None if the list cannot be read
    :param delta: manifests of the commit's changes; None if the list cannot be read
    :param manifests: entries by the name of the manifest. It has the manifests that no commit before named, or all of
        ``base`` if there is no commit before, except unreadable ones
    :param unread: manifests of ``base`` into which earlier ones were merged, and that were not read
    :param damages: damages of the lists and manifests that were read for this commit
    """

    snapshot: Snapshot
    base: tuple[ManifestFile, ...] | None
    delta: tuple[ManifestFile, ...] | None
    manifests: Mapping[str, tuple[ManifestEntry, ...]]
    unread: frozenset[str] = frozenset()
    damages: tuple[Damage, ...] = ()
