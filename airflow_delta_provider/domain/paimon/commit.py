"""A commit with the metadata that it wrote, as far as it could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from airflow_delta_provider.domain.paimon.manifest import ManifestEntry, ManifestFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot


class DamageKind(Enum):
    """What is wrong with a file of metadata."""

    MISSING = "is missing"
    OTHER_SIZE = "has another size than is recorded"
    UNREADABLE = "cannot be read"
    TOO_LARGE = "was not read"
    OUTSIDE = "must not be read"


@dataclass(frozen=True)
class Damage:
    """A file of metadata that is not as what names it says.

    :param path: relative to the table
    :param detail: the sizes, or why it cannot be read
    """

    path: str
    kind: DamageKind
    detail: str = ""

    @property
    def text(self) -> str:
        """What is wrong, to follow the path."""
        return f"{self.kind.value}: {self.detail}" if self.detail else self.kind.value


@dataclass(frozen=True)
class Commit:
    """A snapshot and the files that it names.

    :param base: manifests of the table before the commit, possibly merged; None where the list cannot be read
    :param delta: manifests of what the commit did; None where the list cannot be read
    :param manifests: entries by the name of the manifest: of those that no commit before named, or all of ``base``
        where there is no commit before. One that cannot be read is not among them
    :param unread: manifests of ``base`` that others before were merged into, and that were not read
    :param damages: of the lists and of the manifests that were read for this commit
    """

    snapshot: Snapshot
    base: tuple[ManifestFile, ...] | None
    delta: tuple[ManifestFile, ...] | None
    manifests: Mapping[str, tuple[ManifestEntry, ...]]
    unread: frozenset[str] = frozenset()
    damages: tuple[Damage, ...] = ()
