"""Footers of the files of a table on disk: what is said of those that cannot be read."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet
import pytest

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import survey
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage


def encrypted(content):
    """As Parquet's own encryption leaves a file whose footer is encrypted, too: known by its first and last bytes."""
    return b"PARE" + content[4:-4] + b"PARE"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (lambda content: content, []),
        (encrypted, [("DF05", Severity.UNDECIDED)]),
        (lambda content: bytes(len(content)), [("DF02", Severity.ERROR)]),
        (lambda content: None, [("DF01", Severity.ERROR)]),
    ],
    ids=["sound", "encrypted", "zeros", "missing"],
)
def test_file_that_cannot_be_read_is_named(tmp_path, changed, found):
    sound, other = tmp_path / "sound.parquet", tmp_path / "other.parquet"
    for path in (sound, other):
        pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), path)
    size, content = other.stat().st_size, changed(other.read_bytes())
    other.unlink() if content is None else other.write_bytes(content)
    files = [LiveFile.from_add({"path": path.name, "size": size, "baseRowId": 0}) for path in (sound, other)]
    surveyed = survey(DeltaFiles(LocalStorage(), f"file:{tmp_path}"), files, None)
    assert [(finding.code, finding.severity) for finding in surveyed.findings] == found
    assert {finding.path for finding in surveyed.findings} <= {other.name}
    assert surveyed.rows_of(files[0]) == 2


def test_footer_is_that_of_the_file_whatever_other_threads_read_meanwhile(tmp_path):
    for rows, name in ((2, "one"), (3, "another")):
        pyarrow.parquet.write_table(pyarrow.table({"id": list(range(rows))}), tmp_path / name)
    one, another = (
        LiveFile.from_add({"path": name, "size": (tmp_path / name).stat().st_size}) for name in ("one", "another")
    )
    elsewhere = DeltaFiles(LocalStorage(), f"file:{tmp_path}").footer(another)

    class Overtaken(DeltaFiles):
        """Another thread has always just read the footer of another file."""

        _last_footer = property(lambda _: elsewhere, lambda _, footer: None)

    assert Overtaken(LocalStorage(), f"file:{tmp_path}").footer(one).num_rows == 2
