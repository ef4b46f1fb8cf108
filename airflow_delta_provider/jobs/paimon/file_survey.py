"""What the footers of data files say, and which files are not what their manifests say of them: PD10, PD12, PD13."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.table_history import ROW_ID, carries_ids
from airflow_delta_provider.domain.parquet.footer import EncryptedFooterError, FooterError
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_tracking.materialized_ids import FileIds, MaterializedTypeError, file_ids
from airflow_delta_provider.domain.rules import paimon_rows as rules
from airflow_delta_provider.jobs.paimon.table_files import TableFiles

_PARQUET = "parquet"


@dataclass
class FileSurvey:
    """The footers of some files.

    :param ids: what each file's footer says of the row ids in it
    :param files: the same files as readers of ids take them
    :param broken: files whose rows must not be read
    """

    ids: dict[FileKey, FileIds] = field(default_factory=dict)
    files: dict[FileKey, LiveFile] = field(default_factory=dict)
    broken: set[FileKey] = field(default_factory=set)
    findings: list[tuple[DataFile, Finding]] = field(default_factory=list)


def survey(files: Collection[DataFile], data: TableFiles, is_live: Callable[[DataFile], bool]) -> FileSurvey:
    """Read the footers of ``files``, each once.

    :param is_live: whether the newest snapshot has a file: another one may be cleaned up meanwhile
    """
    result = FileSurvey()
    ordered = list({file.key: file for file in files}.values())
    for file, (ids, finding) in zip(ordered, data.map(lambda file: _look(file, data, is_live), ordered)):
        if finding is not None:
            result.findings.append((file, finding))
        if ids is None:
            result.broken.add(file.key)
        else:
            result.ids[file.key] = ids
            result.files[file.key] = data.live_file(file)
    return result


def _look(
    file: DataFile, data: TableFiles, is_live: Callable[[DataFile], bool]
) -> tuple[FileIds | None, Finding | None]:
    if file.format != _PARQUET:
        return None, _unread(file, f"it is no Parquet file but {file.format or 'of an unknown format'}")
    try:
        footer = data.footer(data.live_file(file))
        ids = file_ids(footer, ROW_ID)
    except FileNotFoundError:
        if is_live(file):
            return None, _unreadable(file, "there is no such file")
        return None, _unread(file, "it is gone, as files of snapshots that expire are")
    except EncryptedFooterError as error:
        return None, _unread(file, str(error))
    except FooterError as error:
        return None, _unreadable(file, str(error))
    except MaterializedTypeError as error:
        return None, _differs(file, f"its column {ROW_ID} should hold 64-bit integers, but {error}")
    except PaimonFormatError as error:
        return None, _unread(file, str(error))
    if ids.rows != file.row_count:
        return ids, _differs(file, f"it has {ids.rows:,} rows, where the manifest says {file.row_count:,}")
    held = footer.leaf((ROW_ID,)) is not None
    if carries_ids(file) and not held:
        return None, _differs(file, f"it lacks the column {ROW_ID} that the manifest names")
    if held and not carries_ids(file):
        return ids, _differs(file, f"it has a column {ROW_ID} that the manifest does not name")
    return ids, None


def _differs(file: DataFile, why: str) -> Finding:
    return rules.NOT_AS_RECORDED.finding(f"{file.name} is not what its manifest says: {why}.", path=file.name)


def _unreadable(file: DataFile, why: str) -> Finding:
    return rules.UNREADABLE.finding(f"{file.name} cannot be read: {why}. {rules.UNREADABLE.remedy}", path=file.name)


def _unread(file: DataFile, why: str) -> Finding:
    return rules.UNREAD.finding(
        f"{file.name} was not read: {why}. Its rows are not part of the proof. {rules.UNREAD.remedy}", path=file.name
    )
