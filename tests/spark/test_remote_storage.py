"""Checks over a network: a real client of Hadoop, a server that may fail."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.jobs.spark.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from tests.spark.webhdfs import WebHdfs
from tests.tables import log
from tests.tables.row_tracking import operations, partitioned

pytestmark = pytest.mark.nightly


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[WebHdfs]:
    with WebHdfs(tmp_path).running() as storage:
        yield storage


#: As S3A, which the jars of Spark lack: it lists in an array of its own type, which Py4J does not take for the general.
OWN_ARRAYS = """
import java.net.URI;
import org.apache.hadoop.fs.*;

public class OwnArrays extends RawLocalFileSystem {
    public static class Status extends FileStatus {
        public Status(FileStatus of) throws java.io.IOException { super(of); }
    }

    FileSystem local() throws java.io.IOException { return FileSystem.getLocal(getConf()); }

    public URI getUri() { return URI.create("own:///"); }

    public FileStatus getFileStatus(Path path) throws java.io.IOException {
        return local().getFileStatus(new Path(path.toUri().getPath()));
    }

    public FileStatus[] listStatus(Path path) throws java.io.IOException {
        FileStatus[] found = local().listStatus(new Path(path.toUri().getPath()));
        Status[] own = new Status[found.length];
        for (int i = 0; i < own.length; i++) { own[i] = new Status(found[i]); }
        return own;
    }
}
"""


def data_file(path: Path) -> str:
    """Return the name of a data file that is live."""
    return next(
        action["add"]["path"]
        for _, actions in sorted(log.commits(path).items(), reverse=True)
        for action in actions
        if "add" in action
    )


def test_bytes_and_names_from_elsewhere_are_as_they_lie_there(spark, remote, tmp_path) -> None:
    storage = HadoopStorage(spark)
    folder = tmp_path / "many"
    folder.mkdir()
    names = {f"{number:020}.größer.json" for number in range(1_000)}
    for name in names:
        (folder / name).touch()
    content = random.Random(3).randbytes(200_000) + bytes(range(256)) + b"\\n\r\n"
    (folder / "content").write_bytes(content)
    there = f"{remote.uri}/many"

    assert set(storage.list_names(there)) == {*names, "content"}
    assert storage.read(f"{there}/content") == content
    assert storage.read_range(f"{there}/content", 5, 100_005) == content[5:100_005]
    assert storage.read_range(f"{there}/content", len(content) - 3, len(content) + 9) == content[-3:]
    assert storage.read(f"{there}/{min(names)}") == b""
    for missing in (storage.read, storage.list_names, storage.size, storage.written_at):
        with pytest.raises(MissingFileError):
            missing(f"{there}/missing")


def test_storage_that_lists_in_its_own_way_is_listed(spark, tmp_path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").mkdir()
    storage = HadoopStorage(spark)
    compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(OWN_ARRAYS)
    storage._configuration.setClassLoader(compiler.getClassLoader())
    storage._configuration.set("fs.own.impl", "OwnArrays")
    assert sorted(storage.list_names(f"own:{tmp_path}")) == ["a", "b"]
    assert storage.list_names(f"own:{tmp_path}/b") == []


def test_many_files_elsewhere_are_read_ahead_in_order_whatever_becomes_of_some(spark, remote, tmp_path) -> None:
    storage = HadoopStorage(spark)
    folder, chance = tmp_path / "many", random.Random(5)
    folder.mkdir()
    contents = [chance.randbytes(chance.choice([0, 1, 900, 70_000, 3_000_000])) for _ in range(150)]
    for number, content in enumerate(contents):
        (folder / f"{number} größer").write_bytes(content)
    paths = [f"{remote.uri}/many/{number} größer" for number in range(len(contents))]

    assert list(storage.read_ahead(paths)) == contents
    remote.fail("7 größer", 6)  # each of 7, 17, …: once, or twice
    assert list(storage.read_ahead(paths)) == contents
    assert list(storage.read_present([*paths[:20], f"{remote.uri}/many/0\n1"])) == [*contents[:20], None]

    first = iter(storage.read_ahead(paths))
    assert next(first) == contents[0]
    first.close()  # the rest is not waited for

    (folder / "99 größer").unlink()
    assert list(storage.read_present(paths)) == [*contents[:99], None, *contents[100:]]
    with pytest.raises(MissingFileError, match="99 größer"):
        list(storage.read_ahead(paths))


@pytest.mark.parametrize("builder", [operations, partitioned])
def test_table_elsewhere_is_checked_like_one_here(table, check, remote, builder: Callable[..., None]) -> None:
    path = table(builder)
    here, there = check(path), check(f"{remote.uri}/t")
    assert there.verdict is Verdict.PASS
    assert there.evidence == here.evidence
    assert remote.asked["LISTSTATUS", "_delta_log"]


def test_storage_that_fails_now_and_then_is_asked_again(table, check, remote) -> None:
    path = table(operations)
    name = data_file(path)
    remote.fail(name, 1)
    assert check(f"{remote.uri}/t").verdict is Verdict.PASS
    assert remote.asked["OPEN", name] >= 2


def test_folder_that_cannot_be_listed_at_first_is_listed_again(spark, remote, tmp_path) -> None:
    (tmp_path / "lake" / "t").mkdir(parents=True)
    (tmp_path / "lake" / "file").touch()
    remote.fail("lake", 1)
    assert HadoopStorage(spark).list_folders(f"{remote.uri}/lake") == ["t"]


def test_storage_that_keeps_failing_is_a_fault_of_that_table_alone(table, run_job, remote) -> None:
    from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions

    failing, whole = table(operations, "failing"), table(operations, "whole")
    remote.fail(data_file(failing), 10_000)
    if data_file(failing) == data_file(whole):  # copies of one table have the same names
        whole = table(partitioned, "another")
    report = run_job([f"{remote.uri}/failing", f"{remote.uri}/{whole.name}"], CheckRowTrackingOptions())
    first, second = report.tables
    assert (first.verdict, first.retryable) == (Verdict.FAULT, True)
    assert [finding.code for finding in first.findings] == ["FT01"]
    assert second.verdict is Verdict.PASS


def test_missing_and_truncated_files_elsewhere_are_told_apart(table, check, remote) -> None:
    path = table(operations)
    victim = path / data_file(path)
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2])
    assert "DF02" in [finding.code for finding in check(f"{remote.uri}/t").findings]
    victim.unlink()
    assert "DF01" in [finding.code for finding in check(f"{remote.uri}/t").findings]
