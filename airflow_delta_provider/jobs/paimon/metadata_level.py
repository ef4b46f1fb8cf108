"""Level metadata: reads and checks commits, and compares merged manifests with the changes of the commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from airflow_delta_provider.domain.paimon.commit import Damage
from airflow_delta_provider.domain.paimon.history_check import HistoryCheck
from airflow_delta_provider.domain.paimon.index_manifest import DELETION_VECTORS, IndexFile
from airflow_delta_provider.domain.paimon.schema_rules import Schemas
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource


class MetadataLevel:
    """Checks the metadata of one table.

    :param since: snapshot to begin after; None to begin with the first
    :param fail_on_reassigned: True if reassigned row ids are an error
    """

    def __init__(
        self, source: MetadataSource, schemas: Schemas, since: int | None, *, fail_on_reassigned: bool
    ) -> None:
        self._source = source
        self._schemas = schemas
        self._since = since
        self._fail_on_reassigned = fail_on_reassigned

    def check(self, ids: Sequence[int]) -> HistoryCheck:
        """Check commits.

        Merged manifests are read only for the newest snapshot. If their entries differ from the changes of the
        commits, all merged manifests are read to find the wrong merge.

        :param ids: ids of snapshots, ascending
        :raises SnapshotGoneError: if a snapshot has vanished
        """
        check, unread = self._check_commits(ids, merged=False)
        if unread and not self._are_as_merged(check, unread):
            check, _ = self._check_commits(ids, merged=True)
        check.add_index_damages(dict(self._index_damages(check)))
        return check

    def _index_damages(self, check: HistoryCheck) -> Iterator[tuple[str, Damage]]:
        """Yield the damage of index manifests that are missing, and of the newest one if it cannot be read, by name."""
        naming = {name: one for one in check.snapshots if (name := one.index_manifest) is not None}
        there = self._source.manifest_names() if naming else frozenset()
        for name, snapshot in naming.items():
            if name not in there or snapshot is check.snapshots[-1]:
                files = self._source.index_files(snapshot)
                if isinstance(files, Damage):
                    yield name, files

    def _are_as_merged(self, check: HistoryCheck, unread: frozenset[str]) -> bool:
        """Return True if the unread merged manifests match the manifests that they replace, in all relevant entries."""
        if check.live.doubtful or not check.live.complete or not unread <= self._source.manifest_names():
            return False
        manifests, damages = self._source.read_manifests(check.live.unread)
        return not damages and check.live.are_those_of(manifests)

    def _check_commits(self, ids: Sequence[int], *, merged: bool) -> tuple[HistoryCheck, frozenset[str]]:
        """Check commits; also return the names of the manifests that were not read."""
        check = HistoryCheck(
            self._schemas,
            since=self._since,
            fail_on_reassigned=self._fail_on_reassigned,
            branch_files=self._source.branch_files,
        )
        vectors: dict[str | None, Mapping[str, int] | None] = {None: {}}
        unread: set[str] = set()
        for commit in self._source.commits(ids, merged=merged):
            if check.ended:
                break
            if isinstance(commit, Damage):
                check.add_damage(commit)
                continue
            unread |= commit.unread
            wanted = check.apply_commit(commit)
            deleted = {snapshot.id: self._deleted_rows(snapshot, vectors) for snapshot in wanted}
            known = {snapshot_id: rows for snapshot_id, rows in deleted.items() if rows is not None}
            if wanted and len(known) == len(deleted):
                check.add_deleted_rows(known, partial(self._source.value_bounds, commit.delta or ()))
        return check, frozenset(unread)

    def _deleted_rows(
        self, snapshot: Snapshot, known: dict[str | None, Mapping[str, int] | None]
    ) -> Mapping[str, int] | None:
        """Return the number of rows that deletion vectors delete in a snapshot, by data file; None if unknown."""
        if snapshot.index_manifest not in known:
            files = self._source.index_files(snapshot)
            known[snapshot.index_manifest] = None if isinstance(files, Damage) else _cardinalities(files)
        return known[snapshot.index_manifest]


def _cardinalities(files: Iterable[IndexFile]) -> dict[str, int] | None:
    vectors = [vector for file in files if file.type == DELETION_VECTORS for vector in file.vectors]
    found = {vector.data_file: vector.cardinality for vector in vectors if vector.cardinality is not None}
    return found if len(found) == len(vectors) else None
