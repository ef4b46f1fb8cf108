"""What the footers of a table's files say of row ids and schemas, and which files are not what the log says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from airflow_delta_provider.domain.checks.data_files import rules as file_rules
from airflow_delta_provider.domain.checks.data_files.file_schema import FileSchemas
from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, FooterError
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.materialized_ids import FileIds, MaterializedTypeError, file_ids
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.session.missing_file import MissingFileError
from airflow_delta_provider.jobs.session.time_budget import TimeBudget

_AFTER_LOSS = "RESTORE the table to a version before the file was added, or bring the file back from a backup"


@dataclass
class FooterSurvey:
    """The footers of the files that have one.

    :param ids: what each file's footer says, by path
    :param is_complete: whether no file was left out
    """

    ids: dict[str, FileIds] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True

    def rows_of(self, file: RowFile) -> int | None:
        """Return the number of rows of a file; where its footer could not be read, what the log says."""
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

    :param column: the column with materialized row ids
    :param schemas: judges the schemas of files; None where those are not asked for
    :param budget: when it is spent, the files that are left are left out
    """
    result = FooterSurvey()
    for file, (found, wrong) in zip(files, data.map(lambda file: _look(data, file, column, schemas), files)):
        if budget is not None and budget.is_spent:
            result.is_complete = False
            break
        result.findings += wrong
        if found is None:
            continue
        result.ids[file.path] = found
        if file.num_records is not None and file.num_records != found.rows:
            result.findings.append(
                file_rules.ROW_COUNT.finding(
                    f"{file.path} has {found.rows} rows, but numRecords in its statistics is {file.num_records}: "
                    "engines that count or skip by statistics answer wrongly, and row ids may be given out twice. "
                    "Rewrite the file: OPTIMIZE, or an UPDATE of its rows that leaves them as they are.",
                    path=file.path,
                )
            )
    return result


def _look(
    data: DeltaFiles, file: LiveFile, column: str | None, schemas: FileSchemas | None
) -> tuple[FileIds | None, list[Finding]]:
    wrong: list[Finding] = []
    try:
        footer = data.footer(file)
        if schemas is not None:
            wrong += schemas.check(footer.schema, file.path)
        return file_ids(footer, column), wrong
    except (MissingFileError, FooterError, MaterializedTypeError) as error:
        return None, [*wrong, _unread(file, column, error)]


def _unread(file: LiveFile, column: str | None, error: Exception) -> Finding:
    """Return why nothing is known of a file's row ids."""
    if isinstance(error, MissingFileError):
        return file_rules.MISSING.finding(
            f"{file.path} is in the table, but there is no such file: reading the table fails. {_AFTER_LOSS}.",
            path=file.path,
        )
    if isinstance(error, EncryptedFooterError):
        return file_rules.ENCRYPTED.finding(
            f"{file.path} cannot be looked into: {error}. Its rows are not part of the proof.", path=file.path
        )
    if isinstance(error, FooterError):
        return file_rules.DAMAGED.finding(f"{file.path} cannot be read: {error}. {_AFTER_LOSS}.", path=file.path)
    return rules.MATERIALIZED_TYPE.finding(
        f"The column {column!r} of {file.path} should hold row ids, 64-bit integers, but {error}: engines fail on "
        f"it, or read other ids. {_AFTER_LOSS}.",
        path=file.path,
        column=column,
    )
