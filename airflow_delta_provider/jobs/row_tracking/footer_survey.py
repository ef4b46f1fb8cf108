"""Row ids and schemas according to the footers of a table's files, and the files that do not match the log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from airflow_delta_provider.domain.checks.data_files.file_schema import FileSchemas
from airflow_delta_provider.domain.checks.data_files.files import (
    damaged_file,
    encrypted_file,
    missing_file,
    unread_file,
    wrong_row_count,
)
from airflow_delta_provider.domain.checks.row_tracking.row_ids import wrong_type
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, FooterError
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.materialized_ids import FileIds, MaterializedTypeError, file_ids
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.process.time_budget import TimeBudget
from airflow_delta_provider.jobs.storage.engine_error import UnreadFileError
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


@dataclass
class FooterSurvey:
    """The readable footers of a table's files.

    :param ids: row ids according to each file's footer, by path
    :param is_complete: True if no file was left out
    """

    ids: dict[str, FileIds] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True

    def rows_of(self, file: RowFile) -> int | None:
        """Return the number of rows of a file: from its footer, or from the log if the footer could not be read."""
        ids = self.ids.get(file.path)
        return file.num_records if ids is None else ids.rows


def survey(
    data: DeltaFiles,
    files: Collection[LiveFile],
    column: str | None,
    schemas: FileSchemas | None = None,
    budget: TimeBudget | None = None,
) -> FooterSurvey:
    """Read the footers of ``files``, each once.

    :param column: column with materialized row ids
    :param schemas: checks the schemas of files; None to skip this check
    :param budget: time limit; the remaining files are left out once it is spent
    """
    result = FooterSurvey()
    for file, (found, wrong) in zip(files, data.map(lambda file: _read(data, file, column, schemas), files)):
        if budget is not None and budget.is_spent:
            result.is_complete = False
            break
        result.findings += wrong
        if found is None:
            continue
        result.ids[file.path] = found
        if file.num_records is not None and file.num_records != found.rows:
            result.findings.append(wrong_row_count(file.path, found.rows, file.num_records))
    return result


def _read(
    data: DeltaFiles, file: LiveFile, column: str | None, schemas: FileSchemas | None
) -> tuple[FileIds | None, list[Finding]]:
    wrong: list[Finding] = []
    try:
        footer = data.footer(file)
        if schemas is not None:
            wrong += schemas.check(footer.schema, file.path)
        return file_ids(footer, column), wrong
    except (MissingFileError, FooterError, MaterializedTypeError, UnreadFileError) as error:
        return None, [*wrong, _unread(file, column, error)]


def unread(path: str, error: UnreadFileError, *, vector: bool = False) -> Finding:
    """Return the finding for a file that was not read.

    :param path: path of the file in the log
    :param vector: True if it is the file of the deletion vector
    """
    return unread_file(path, error.problem, error.meaning.remedy, outside=error.is_outside, vector=vector)


def _unread(file: LiveFile, column: str | None, error: Exception) -> Finding:
    """Return the finding that explains why a file's row ids are unknown."""
    if isinstance(error, MissingFileError):
        return missing_file(file.path)
    if isinstance(error, UnreadFileError):
        return unread(file.path, error)
    if isinstance(error, EncryptedFooterError):
        return encrypted_file(file.path, error)
    if isinstance(error, FooterError):
        return damaged_file(file.path, error)
    return wrong_type(file.path, column, error)
