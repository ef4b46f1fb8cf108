"""Tables read by the installed engines: real ones, each in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import TryEnginesOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.migrations import try_engines
from airflow_delta_provider.jobs.migrations.engine_reader import RowsDigest, S3Access, duckdb_secret, values
from airflow_delta_provider.jobs.migrations.try_engines import EngineAnswer, copy_table, differences
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.storages import Storages
from tests.small_s3 import SmallS3

BOTH = ("deltalake", "deltalake-pyarrow")


def check(table: Path, **options: Any) -> TableReport:
    (report,) = run(JobRequest((str(table),), TryEnginesOptions(**options)), python_session()).tables
    return report


def codes(report: TableReport) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table with all kinds of values, of two commits."""
    columns = {
        "id": pa.array([1, 2, 3]),
        "part": pa.array(["a", "ä b", None]),
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2)),
        "day": pa.array([date(1500, 1, 1), date(9999, 12, 31), None]),
        "at": pa.array([datetime(2026, 1, 1, tzinfo=timezone.utc), None, None], pa.timestamp("us", "UTC")),
        "raw": pa.array([b"\x00\xff", b"", None]),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
        "ratio": pa.array([1.5, float("nan"), -0.0]),
    }
    for _ in range(2):
        write_deltalake(tmp_path / "orders", pa.table(columns), mode="append", partition_by=["part"])
    return tmp_path / "orders"


def rewrite_file(table: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the rows of a file, and only its size in the log."""
    path = sorted(table.rglob("*.parquet"))[0]
    size = path.stat().st_size
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)
    for commit in (table / "_delta_log").glob("*.json"):
        lines = commit.read_text().splitlines()
        new = f'"size":{path.stat().st_size}'
        changed = [line.replace(f'"size":{size}', new) if path.name in line else line for line in lines]
        commit.write_text("".join(f"{line}\n" for line in changed))


def test_engines_that_read_the_same_rows_pass_with_their_rows_and_digests(table: Path) -> None:
    report = check(table, engines=BOTH)

    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), 1)
    one, other = report.evidence["tried"]
    assert (one["engine"], other["engine"]) == ("delta-rs", "deltalake to_pyarrow_table")
    assert one["rows"] == other["rows"] == 6
    assert one["digest"] == other["digest"]


def test_rows_that_the_log_does_not_count_are_reported(table: Path) -> None:
    rewrite_file(table, lambda rows: pa.concat_tables([rows, rows]))

    report = check(table, engines=("deltalake-pyarrow",))

    assert codes(report) == ["CP10", "CP11"]
    assert "reads 7 rows; by the log, the table has 6" in report.findings[0].message


def test_predicate_loses_the_rows_that_wrong_statistics_hide(table: Path) -> None:
    """One engine is enough: the rows of a predicate and of its opposite are all rows."""
    before = check(table, engines=("deltalake",), where=("id > 70", "part = 'a'"))
    rewrite_file(table, lambda rows: rows.set_column(0, "id", pa.array([77] * len(rows))))
    after = check(table, engines=("deltalake",), where=("id > 70", "part = 'a'"))

    assert codes(before) == ["CP11"]
    assert codes(after) == ["CP10", "CP11"]
    assert "finds 5 rows by 'id > 70' and its opposite" in after.findings[0].message


def test_value_that_no_reader_can_have_is_a_refusal(tmp_path: Path) -> None:
    """A timestamp of INT96 in year 9999: one way wraps around, the other refuses."""
    table, log = tmp_path / "history", tmp_path / "history" / "_delta_log"
    log.mkdir(parents=True)
    far = pa.table({"at": pa.array([datetime(9999, 12, 31, tzinfo=timezone.utc)], pa.timestamp("us", "UTC"))})
    pq.write_table(far, table / "a.parquet", use_deprecated_int96_timestamps=True)
    schema = {"type": "struct", "fields": [{"name": "at", "type": "timestamp", "nullable": True, "metadata": {}}]}
    metadata = {"id": "t", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema)}
    size = (table / "a.parquet").stat().st_size
    add = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**metadata, "partitionColumns": [], "configuration": {}, "createdTime": 1}},
        {"add": add},
    ]
    (log / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))

    report = check(table, engines=BOTH)

    assert (report.verdict, codes(report)) == (Verdict.VIOLATED, ["CP07", "CP11"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"engines": ("daft",)}, "the package daft is not installed"),
        ({"engines": ("deltalake",), "seconds_per_engine": 0.01}, "it did not end within 0.01 seconds"),
    ],
)
def test_engine_that_cannot_be_tried_says_nothing_about_the_table(
    table: Path, options: dict[str, Any], why: str
) -> None:
    report = check(table, **options)

    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["CP11", "CP08"])
    assert why in report.findings[1].message
    assert report.evidence["tried"][0]["outcome"] == "not measured"


@pytest.fixture
def fake_daft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that installs a package ``daft``, with its source, for this process and those of engines."""
    folder = tmp_path / "packages"
    (folder / "daft-9.9.9.dist-info").mkdir(parents=True)
    (folder / "daft-9.9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: daft\nVersion: 9.9.9\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return lambda source: (folder / "daft.py").write_text(source) and None


#: A name that no server knows (RFC 2606): even if there is a network, it has no address.
_FETCH = "import urllib.request\nurllib.request.urlopen('http://extensions.invalid/', timeout=5)"
_READ = "def read_deltalake(*_, **__):\n    "


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import time\ntime.sleep(600)", "it did not end within 10 seconds"),
        # a process that it started holds its output open
        (
            "import subprocess, time\nsubprocess.Popen(['sleep', '600'])\ntime.sleep(600)",
            "it did not end within 10 seconds",
        ),
        ("import os\nos.abort()", "its process was ended by SIGABRT"),
        (
            "import sys, ctypes\nprint('at 0x0', file=sys.stderr, flush=True)\nctypes.string_at(0)",
            "its process was ended by SIGSEGV: at 0x0",
        ),
        ("import os\nos._exit(3)", "its process ended with code 3 and no message"),
        (
            "taken = []\nwhile True:\n    taken.append(b'x' * (16 << 20))",
            "it took more than half of the memory that it may have, 0.4 GB",
        ),
        (_FETCH, "it needs the network: URLError: <urlopen error"),
        (
            f"{_READ}raise OSError('error sending request for url (http://store.invalid/t): dns error')",
            "it needs the network: OSError: error sending request",
        ),
        ("def read_deltalake(*_, **__):\n    print(0)\n    raise SystemExit(0)", "its process gave no answer"),
    ],
    ids="hangs child-hangs aborts segfault exits memory network network-in-rust leaves".split(),
)
def test_engine_with_a_fault_is_not_measured_and_the_others_are(
    table: Path, fake_daft: Any, monkeypatch: pytest.MonkeyPatch, source: str, why: str
) -> None:
    fake_daft(source)
    monkeypatch.setattr(try_engines, "memory_limit", lambda: 800_000_000)
    monkeypatch.setenv("PYTHONFAULTHANDLER", "")

    report = check(table, engines=("daft", "deltalake"), seconds_per_engine=10)

    assert (report.verdict, codes(report)) == (Verdict.UNDETERMINED, ["CP11", "CP08"])
    fault, right = report.evidence["tried"]
    assert (fault["engine"], fault["version"], fault["outcome"]) == ("Daft", "9.9.9", "not measured")
    assert why in fault["message"]
    assert why in report.findings[1].message
    assert (right["outcome"], right["rows"]) == ("read", 6)


@pytest.mark.parametrize(
    "at_exit",
    ["print('Goodbye')", "import time\n    time.sleep(600)", "import os\n    os.abort()"],
    ids=["speaks", "hangs", "aborts"],
)
def test_answer_counts_if_the_process_has_a_fault_at_its_end(table: Path, fake_daft: Any, at_exit: str) -> None:
    fake_daft(
        "import atexit, pyarrow\nprint('Welcome')\n"
        f"@atexit.register\ndef last():\n    {at_exit}\n"
        "class Frame:\n    def to_arrow_iter(self):\n        yield pyarrow.table({'id': [1]})\n"
        f"class io:\n    IOConfig = S3Config = dict\n{_READ}return Frame()\n"
    )

    report = check(table, engines=("daft",), seconds_per_engine=15 if "sleep" in at_exit else 60)

    assert codes(report) == ["CP10", "CP11"]
    assert "Daft 9.9.9 reads 1 row; by the log, the table has 6" in report.findings[0].message


def test_change_of_the_copy_that_does_not_end_in_time_is_refused(table: Path) -> None:
    """Engines are not tried on a table that the command may have half changed."""
    report = check(table, engines=BOTH, after=("audit",), seconds_per_engine=0.05)

    (finding,) = report.findings
    assert report.verdict is Verdict.REFUSED
    assert "The command 'audit' failed on a copy of the table: it did not end within 0.05 seconds" in finding.message
    assert "--seconds-per-engine" in finding.remedy


def test_change_of_the_copy_that_fails_is_refused_with_its_message(table: Path) -> None:
    report = check(table, engines=BOTH, after=("audit --no-such-option",), seconds_per_engine=60)

    (finding,) = report.findings
    assert report.verdict is Verdict.REFUSED
    assert "failed on a copy of the table: its process ended with code 2: " in finding.message
    assert "--no-such-option" in finding.message.partition("its process")[2]


def test_engines_get_the_options_of_the_object_store(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with SmallS3().running() as store:
        store.load(table, "orders")
        options = {"endpoint": store.endpoint, "access_key_id": "key", "secret_access_key": "secret", "region": "eu-1"}
        session = python_session(Storages(options))
        (report,) = run(JobRequest(("s3a://lake/orders",), TryEnginesOptions(engines=BOTH)), session).tables

    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert [tried["rows"] for tried in report.evidence["tried"]] == [6, 6]


def test_options_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:9000")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "o'clock")

    access = S3Access.of({"region": "eu-1"})

    assert (access.region, access.endpoint) == ("eu-1", "http://localhost:9000")
    said = "SESSION_TOKEN 'o''clock', REGION 'eu-1', ENDPOINT 'localhost:9000', URL_STYLE 'path', USE_SSL false"
    assert said in duckdb_secret(access)


def test_unknown_engine_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(RequestError, match="Did you mean 'duckdb'"):
        TryEnginesOptions(engines=("duckdbb",))


def test_copy_shares_data_files_and_no_file_of_the_log(table: Path, tmp_path: Path) -> None:
    copy_table(table, tmp_path / "copy")

    write_deltalake(tmp_path / "copy", DeltaTable(table).to_pyarrow_table(), mode="overwrite")
    assert (DeltaTable(table).version(), DeltaTable(tmp_path / "copy").version()) == (1, 2)
    data = sorted(table.rglob("*.parquet"))[0]
    assert (tmp_path / "copy" / data.relative_to(table)).stat().st_ino == data.stat().st_ino


def test_digest_does_not_depend_on_order_or_batches_and_shows_values_in_other_rows() -> None:
    rows = pa.table({"a": [1, 2, 3], "b": ["x", "y", None]})
    swapped = pa.table({"a": [2, 1, 3], "b": ["x", "y", None]})

    def digest(table: pa.Table, size: int) -> RowsDigest:
        found = RowsDigest()
        for batch in table.to_batches(max_chunksize=size):
            found.take(batch)
        return found

    assert digest(rows, 3) == digest(rows.take([2, 0, 1]), 1)
    assert digest(rows, 3).columns == digest(swapped, 3).columns
    assert digest(rows, 3).total != digest(swapped, 3).total


def test_values_are_the_same_for_all_types_of_arrow_that_engines_give() -> None:
    at = datetime(9999, 12, 31, 23, 59, 59, 999999)
    utc = at.replace(tzinfo=timezone.utc)
    same = [
        [pa.array([at], pa.timestamp("us")), pa.array([utc], pa.timestamp("us", "UTC"))],
        [pa.array(["a", None]), pa.array(["a", None], pa.large_string()), pa.array(["a", None]).dictionary_encode()],
        [pa.array([Decimal("1.50")]), pa.array([Decimal("1.5")], pa.decimal128(38, 10))],
        [pa.array([{"x": 1, "y": b"a"}]), pa.array([{"y": b"a", "x": 1}])],
        [pa.array([0.1], pa.float32()), pa.array([0.10000000149011612])],
    ]

    for columns in same:
        assert len({tuple(values(column)) for column in columns}) == 1
    assert values(pa.array([0.0, -0.0, float("nan"), None])) == ["0.0", "-0.0", "NaN", None]


def test_engines_that_differ_are_named_together_without_calling_one_wrong() -> None:
    def tried(engine: str, total: int, nulls: int) -> EngineAnswer:
        read = {"rows": 3, "total": total, "columns": {"part": {"total": total, "nulls": nulls}}}
        return EngineAnswer(engine, "1.0", (read,))

    readers = [tried("deltalake", 7, 0), tried("duckdb", 8, 3), tried("polars", 7, 0)]
    (finding,) = differences(readers, 0, None)

    said = "delta-rs 1.0 and Polars 1.0: 3 rows; DuckDB 1.0: other values in part (3 NULLs and not 0)"
    assert finding.evidence == f"The engines read different rows: {said}."
