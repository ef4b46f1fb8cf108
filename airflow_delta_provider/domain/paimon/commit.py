"""A commit with its metadata, as far as it could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.paimon.manifest import ManifestEntry, ManifestFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot


class DamageKind(Enum):
    """A kind of damage in a metadata file."""

    MISSING = "is missing"
    OTHER_SIZE = "has another size than is recorded"
    UNREADABLE = "cannot be read"
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
