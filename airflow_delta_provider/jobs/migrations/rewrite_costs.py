"""The data files that dropping a feature rewrites: from the log, or from footers if the log is not enough."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_delta_provider.domain.changes.drop_features.plan import RewriteCost
from airflow_delta_provider.domain.changes.drop_features.rewritten_files import FileDifference, FileDifferences
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.features.feature import Rewrites
from airflow_delta_provider.domain.delta.features.traces import REMOVALS, is_in_use
from airflow_delta_provider.domain.delta.features.types import records_types
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.storage.engine_error import UnreadFileError
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


def rewrite_costs(data: DeltaFiles, features: Iterable[str], state: TableState) -> dict[str, RewriteCost]:
    """Return the cost of rewriting, by feature. A file whose footer cannot be read is included.

    :param state: state of the table, with its files
    """
    rewrites = {name: REMOVALS[name].rewrites for name in features if name in REMOVALS}
    types = Rewrites.OF_OTHER_TYPES in rewrites.values() and records_types(state.metadata)
    columns = Rewrites.WITH_VECTORS in rewrites.values() and state.protocol.supports(COLUMN_MAPPING)
    files = list(state.live_files)
    differences = dict(zip((file.path for file in files), _differences(data, files, state))) if types or columns else {}
    found: dict[str, RewriteCost] = {}
    for name, kind in rewrites.items():
        if kind is Rewrites.ALL:
            written = files if is_in_use(name, state) else []
        elif kind is Rewrites.OF_OTHER_TYPES:
            written = [f for f in files if types and _is(differences[f.path], "types")]
        elif kind is Rewrites.WITH_VECTORS:
            written = [f for f in files if _deletes(f) or (columns and _is(differences[f.path], "columns"))]
        else:
            continue
        unread = sum(1 for file in written if file.path in differences and differences[file.path] is None)
        found[name] = RewriteCost(len(written), sum(file.size for file in written), unread)
    return found


def _differences(data: DeltaFiles, files: list[LiveFile], state: TableState) -> Iterable[FileDifference | None]:
    compared = FileDifferences(state.metadata)

    def look(file: LiveFile) -> FileDifference | None:
        try:
            return compared.of(data.footer(file).schema)
        except (MissingFileError, FooterError, UnreadFileError):
            return None

    return data.map(look, files)


def _is(difference: FileDifference | None, what: str) -> bool:
    """Return True if a file differs, or may differ because its footer could not be read."""
    return difference is None or bool(getattr(difference, what))


def _deletes(file: LiveFile) -> bool:
    return file.deletion_vector is not None and file.deletion_vector.cardinality > 0
