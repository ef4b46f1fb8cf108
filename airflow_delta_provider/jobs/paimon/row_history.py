"""The history of a table for the level of rows: with the deletion vectors of each snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_delta_provider.domain.paimon.baseline import Baseline
from airflow_delta_provider.domain.paimon.commit import Damage
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile
from airflow_delta_provider.domain.paimon.live_files import Change, History
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import LiveState, Step, TableHistory
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource


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
