"""Whether the deletion vectors of live files can be read: at level data."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.checks.data_files.files import unreadable_vector
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import RowCount
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


def check_vectors(
    data: DeltaFiles, files: Collection[LiveFile], rows_of: RowCount, budget: TimeBudget
) -> Iterator[Finding]:
    """Yield the files whose deletion vectors cannot be read.

    :param rows_of: the number of rows of each file
    :raises OutOfTimeError: when there is no time left
    """
    deleting = [file for file in files if file.deletion_vector is not None]
    for file, problem in zip(deleting, budget.each(data.map(lambda file: _problem(data, file, rows_of), deleting))):
        if problem is not None:
            yield unreadable_vector(file.path, problem)


def _problem(data: DeltaFiles, file: LiveFile, rows_of: RowCount) -> str | None:
    try:
        data.deleted(file, rows_of(file))
    except MissingFileError:
        return "its file is missing"
    except BrokenDeletionVectorError as error:
        return str(error)
    return None
