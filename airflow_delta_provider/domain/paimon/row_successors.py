"""Which files may have the rows of others after a commit: as long as there are some, rows may break a rule."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_delta_provider.domain.paimon.id_ranges import id_range
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.table_history import carries_ids


def row_successors(
    of: frozenset[FileKey], added: Collection[DataFile], deleted: Mapping[FileKey, DataFile]
) -> frozenset[FileKey]:
    """Return the files that, after a commit, may have rows of ``of`` under their ids.

    Metadata does not record which rows went where, so any file that carries ids may have them, and one that has
    the same ids, as compaction of column files leaves it.

    :param deleted: what the commit deleted, of ``of`` and of others
    """
    gone = [deleted[key] for key in of if key in deleted]
    if not gone:
        return of
    return (of - deleted.keys()) | {
        file.key for file in added if carries_ids(file) or any(_share_ids(file, one) for one in gone)
    }


def _share_ids(one: DataFile, other: DataFile) -> bool:
    ids, others = id_range(one), id_range(other)
    if not ids or not others:
        return False
    return max(ids.start, others.start) < min(ids.stop, others.stop)
