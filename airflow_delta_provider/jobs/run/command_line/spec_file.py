"""The output file of ``init-spec``."""

from __future__ import annotations

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.migration_options import InitSpecOptions
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.spec.writing import Written, file_text
from airflow_delta_provider.jobs.run.command_line.report_file import ReportFile
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError
from airflow_delta_provider.jobs.storage.storage import Storage


class SpecFile:
    """The file for the specs that a request generates.

    :raises RequestError: if no file can be written there
    """

    def __init__(self, place: str, *, overwrite: bool) -> None:
        self._place = place
        self._overwrite = overwrite
        try:
            self._file = ReportFile(place)
        except RequestError as error:
            raise RequestError("{out}: {error}", error=str(error)) from None

    @classmethod
    def of(cls, options: Options) -> SpecFile | None:
        """Return the output file that the options name; None if they name none."""
        if isinstance(options, InitSpecOptions) and options.out is not None:
            return cls(options.out, overwrite=options.force)
        return None

    def check(self, storage: Storage) -> None:
        """Check that no existing file would be overwritten without ``--force``.

        :raises RequestError: if a file would be overwritten
        :raises Exception: error of the storage, if it cannot be reached
        """
        self._file.check(storage)
        if self._overwrite:
            return
        try:
            storage.read(storage.qualify(self._place))
        except (FileNotFoundError, MissingFileError):
            return
        raise RequestError("{out}: {place} exists. Give {force} to overwrite it.", place=self._place)

    def write(self, report: JobReport, storage: Storage) -> int:
        """Write the specs of the tables that have one, and return their number. Without specs, no file is written.

        :raises Exception: error of the storage, if the file cannot be written
        """
        tables = [
            Written(table.spec, table.version, known.get("table_id") or "", known.get("left_out", ()))
            for table, known in ((table, table.evidence or {}) for table in report.tables)
            if table.spec is not None
        ]
        if tables:
            self._file.write([file_text(tables, as_json=self._place.endswith(".json"))], storage)
        return len(tables)
