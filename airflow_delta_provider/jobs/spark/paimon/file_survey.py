"""The footers of data files, and the files that differ from their manifest entries: PD10, PD12, PD13."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from py4j.protocol import Py4JError

from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, Footer, FooterError
from airflow_delta_provider.domain.paimon.file_faults import FileFault, differs, unread, unreadable
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, SEQUENCE_NUMBER, carries_ids
from airflow_delta_provider.domain.row_ids.materialized_ids import FileIds, MaterializedTypeError, file_ids
from airflow_delta_provider.domain.row_ids.row_file import RowFile
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.storage.engine_error import UnreadFileError
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

_PARQUET, _AVRO = "parquet", "avro"


@dataclass
class FileSurvey:
    """The footers of some files.

    :param ids: row ids according to each file's footer
    :param files: the same files, in the form that readers of ids use
    :param broken: files whose rows must not be read
    :param vanished: True if files are missing that are not in the newest snapshot
    """

    ids: dict[FileKey, FileIds] = field(default_factory=dict)
    files: dict[FileKey, RowFile] = field(default_factory=dict)
    broken: set[FileKey] = field(default_factory=set)
    faults: list[FileFault] = field(default_factory=list)
    vanished: bool = False

    def extend(self, more: FileSurvey) -> None:
        """Add the results of another survey, of other files."""
        self.ids |= more.ids
        self.files |= more.files
        self.broken |= more.broken
        self.faults += more.faults
        self.vanished |= more.vanished


def survey(files: Collection[DataFile], data: TableFiles, is_live: Callable[[DataFile], bool]) -> FileSurvey:
    """Read the footers of ``files``, each once.

    :param is_live: returns True if the newest snapshot has a file; other files may be deleted in the meantime
    """
    result = FileSurvey()
    ordered = list({file.key: file for file in files}.values())
    for file, found in zip(ordered, data.map(lambda file: _look(file, data), ordered)):
        if found is None:
            result.vanished |= not is_live(file)
            result.faults.append(unreadable(file, "there is no such file") if is_live(file) else _vanished(file))
            result.broken.add(file.key)
            continue
        ids, faults = found
        result.faults += faults
        if ids is None:
            result.broken.add(file.key)
        else:
            result.ids[file.key] = ids
            result.files[file.key] = data.row_file(file)
    return result


def _look(file: DataFile, data: TableFiles) -> tuple[FileIds | None, list[FileFault]] | None:
    """Return the row ids of a footer and the faults of a file; None if there is no such file.

    The ids are None if the rows cannot be read. If the storage fails temporarily, the check fails and is retried.
    """
    if file.format != _PARQUET:
        remedy = (
            "Write the table's files as Parquet: nothing reads row ids of Avro files." if file.format == _AVRO else None
        )
        return None, [unread(file, f"its format is {file.format or 'unknown'}, not Parquet", remedy)]
    try:
        footer = data.footer(data.row_file(file))
        ids = file_ids(footer, ROW_ID)
    except MissingFileError:
        return None
    except UnreadFileError as error:
        return None, [unread(file, error.problem, error.meaning.remedy)]
    except EncryptedFooterError as error:
        return None, [unread(file, str(error))]
    except FooterError as error:
        return None, [unreadable(file, str(error))]
    except MaterializedTypeError as error:
        return None, [differs(file, f"its column {ROW_ID} should hold 64-bit integers, but {error}")]
    except PaimonFormatError as error:
        return None, [unread(file, str(error))]
    except (OSError, Py4JError) as error:
        understood = understand(error)
        if understood.retryable:
            raise
        return None, [unread(file, understood.message.rstrip("."), remedy="")]
    if ids.rows != file.row_count:
        return ids, [differs(file, f"it has {ids.rows:,} rows, the manifest says {file.row_count:,}")]
    lacks_ids = carries_ids(file) and footer.leaf((ROW_ID,)) is None
    return None if lacks_ids else ids, list(_other_columns(file, footer))


def _other_columns(file: DataFile, footer: Footer) -> Iterator[FileFault]:
    for column in (ROW_ID, SEQUENCE_NUMBER):
        named, held = column in (file.write_cols or ()), footer.leaf((column,)) is not None
        if named and not held:
            yield differs(file, f"it lacks the column {column} that the manifest names")
        elif held and not named:
            yield differs(file, f"it has a column {column} that the manifest does not name")


def _vanished(file: DataFile) -> FileFault:
    return unread(
        file,
        "it is missing, as files of expired snapshots are",
        "If a snapshot that is kept needs it, that snapshot can no longer be read.",
    )
