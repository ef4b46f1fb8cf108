"""Level metadata: reads and checks commits, and compares merged manifests with the changes of the commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from airflow_delta_provider.domain.paimon.history_check import HistoryCheck
from airflow_delta_provider.domain.paimon.index_manifest import DELETION_VECTORS, IndexFile
from airflow_delta_provider.domain.paimon.layout import manifest_path
from airflow_delta_provider.domain.paimon.live_files import Change, History
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Damage, DamageKind, Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import Schemas
from airflow_delta_provider.domain.paimon.table_history import LiveState, Step, TableHistory
from airflow_delta_provider.domain.paimon.violations import Baseline, listed
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
        self._vectors: dict[str | None, tuple[Mapping[str, int] | None, Damage | None]] = {None: ({}, None)}

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
        """Yield the damage of index manifests, by name."""
        for name, snapshot in {name: one for one in check.snapshots if (name := one.index_manifest)}.items():
            _, damage = self._vectors_of(snapshot)
            if damage is not None:
                yield name, damage

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
        unread: set[str] = set()
        for commit in self._source.commits(ids, merged=merged):
            if check.ended:
                break
            if isinstance(commit, Damage):
                check.add_damage(commit)
                continue
            unread |= commit.unread
            wanted = check.apply_commit(commit)
            deleted = {snapshot.id: self._vectors_of(snapshot)[0] for snapshot in wanted}
            known = {snapshot_id: rows for snapshot_id, rows in deleted.items() if rows is not None}
            if wanted and len(known) == len(deleted):
                check.add_deleted_rows(known, partial(self._source.value_bounds, commit.delta or ()))
        return check, frozenset(unread)

    def _vectors_of(self, snapshot: Snapshot) -> tuple[Mapping[str, int] | None, Damage | None]:
        """Return the number of rows that deletion vectors delete in a snapshot, by data file; None if unknown.

        The second value is the damage of the index manifest.
        """
        name = snapshot.index_manifest
        if name not in self._vectors:
            files = self._source.index_files(snapshot)
            self._vectors[name] = (
                (None, files)
                if isinstance(files, Damage)
                else (_cardinalities(files), _contradiction(manifest_path(name or ""), files))
            )
        return self._vectors[name]


def _cardinalities(files: Iterable[IndexFile]) -> dict[str, int] | None:
    vectors = [vector for file in files if file.type == DELETION_VECTORS for vector in file.vectors]
    found = {vector.data_file: vector.cardinality for vector in vectors if vector.cardinality is not None}
    return found if len(found) == len(vectors) else None


def _contradiction(path: str, files: Iterable[IndexFile]) -> Damage | None:
    """Return a damage if data files have more than one deletion vector."""
    counts = Counter(
        (file.partition, file.bucket, vector.data_file)
        for file in files
        if file.type == DELETION_VECTORS
        for vector in file.vectors
    )
    repeated = [f"{count} deletion vectors for {name}" for (_, _, name), count in counts.items() if count > 1]
    return Damage(path, DamageKind.CONTRADICTING, f"it has {listed(repeated)}") if repeated else None


class UnknownRowsError(Exception):
    """The set of rows, or the meaning of their columns, is unknown. The message has the reason."""


def row_history(
    history: History, source: MetadataSource, *, since: int | None = None, baseline: Baseline | None = None
) -> TableHistory:
    """Return a history with its deletion vectors.

    :param since: snapshot after which commits are checked; None if all are checked
    :param baseline: result of an earlier check of this history
    :raises UnknownRowsError: if the set of files is uncertain, or an index manifest or a schema cannot be read
    :raises SnapshotGoneError: if a snapshot has vanished
    """
    if not history.complete:
        raise UnknownRowsError("which files are live is not known for sure")
    files = [*history.beginning.values(), *(file for change in history.changes for file in change.added)]
    if unknown := sorted({file.schema_id for file in files} - history.schemas.keys()):
        raise UnknownRowsError(f"files were written with schema {', '.join(map(str, unknown))}, which cannot be read")
    if not history.schemas:
        raise UnknownRowsError("no schema can be read")
    known: dict[str | None, tuple[IndexFile, ...]] = {None: ()}

    def index_files(snapshot: Snapshot) -> tuple[IndexFile, ...]:
        if snapshot.index_manifest not in known:
            found = source.index_files(snapshot)
            if isinstance(found, Damage):
                raise UnknownRowsError(f"{found.path} {found.text}")
            known[snapshot.index_manifest] = found
        return known[snapshot.index_manifest]

    first, *rest = history.changes
    return TableHistory(
        history.schemas,
        LiveState(first.snapshot, _without_indexes(history.beginning.values()), index_files(first.snapshot)),
        tuple(_step(one, index_files(one.snapshot)) for one in rest),
        judged_start=since is None,
        proven=baseline is not None and baseline.level == "data",
    )


def _step(change: Change, index_files: tuple[IndexFile, ...]) -> Step:
    """Return the changes of a commit to rows. A file that only got another index is the same file."""
    added, deleted = _without_indexes(change.added), _without_indexes(change.deleted)
    same = {*added} & {*deleted}
    return Step(
        change.snapshot,
        tuple(file for file in added if file not in same),
        tuple(file for file in deleted if file not in same),
        index_files,
        change.renumbered,
    )


def _without_indexes(files: Iterable[DataFile]) -> tuple[DataFile, ...]:
    return tuple(file._replace(extra_files=(), embedded_index=None) for file in files)
