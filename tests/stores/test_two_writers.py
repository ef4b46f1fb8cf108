"""Two that write at the same moment: drivers and jobs by Delta's log store, audits by their state files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.watch.metadata_folder import StorageAddress, filesystem_of
from tests.stores.emulators import Store
from tests.stores.writer import tries

WRITERS = ("left", "right")
#: Turns in which both writers change a table.
TURNS = 9
Tries = list[dict[str, Any]]


def tables(session: SparkDeltaSession, lake: str) -> str:
    """Make the tables that the writers change in a folder, and return it."""
    session.sql(f"CREATE TABLE delta.`{lake}/altered` (id int) USING delta")
    session.sql(f"INSERT INTO delta.`{lake}/altered` VALUES (1)")
    for turn in range(2, TURNS, 3):
        session.sql(f"CREATE TABLE delta.`{lake}/tracked_{turn}` (id int) USING delta")
    return lake


@contextmanager
def driver(writer: str, conf: Path, log: Path) -> Iterator[Callable[[str, int], Tries]]:
    """Start a driver, and yield what it does in a turn."""
    command = [sys.executable, "-m", "tests.stores.writer", writer]
    environment = {**os.environ, "SPARK_CONF_DIR": str(conf)}
    with (
        open(log, "wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        said, told = process.stdout, process.stdin
        assert said.readline() == "ready\n", log.read_text()[-3000:]

        def turn(lake: str, number: int) -> Tries:
            print(json.dumps([lake, number]), file=told, flush=True)
            done: Tries = json.loads(said.readline())
            return done

        yield turn
        told.close()


def at_once(turns: Mapping[str, Callable[[int], Tries]]) -> list[Tries]:
    """Let the writers take their turns, each at the same moment, and return what each did in each."""
    together = Barrier(len(turns))

    def take(turn: Callable[[int], Tries]) -> list[Tries]:
        done = []
        for number in range(TURNS):
            together.wait(timeout=300)
            done.append(turn(number))
        return done

    with ThreadPoolExecutor(len(turns)) as pool:
        return [done for each in pool.map(take, turns.values()) for done in each]


def check_nothing_is_lost(session: SparkDeltaSession, lake: str, done: list[Tries]) -> None:
    """Check that every version has one writer, and that whoever was late said so, did nothing, and did it later."""
    for ends in done:
        *lost, last = ends
        assert (last["verdict"], last["codes"]) == ("PASS", []), ends
        assert all((end["verdict"], end["changed"], end["codes"]) == ("REFUSED", False, ["RQ15"]) for end in lost), ends
    changes = [(end["table"], end["version"]) for ends in done for end in ends if end["changed"]]
    added = [ends[-1] for ends in done if ends[-1]["table"] == "altered"]
    assert all(end["changed"] for end in added)
    columns = session.sql(f"SELECT * FROM delta.`{lake}/altered`")[0].asDict()
    assert len(columns) == len(added) + 1
    for table in {end["table"] for ends in done for end in ends}:
        (report,) = run(JobRequest((f"{lake}/{table}",), AuditOptions()), session).tables
        assert (report.verdict, report.findings) == (Verdict.PASS, ())
        made = 2 if table == "altered" else 1
        assert report.version is not None
        assert report.version + 1 - made == len([change for change in changes if change[0] == table])


def test_of_two_drivers_one_commits_each_version_and_the_other_says_that_it_was_late(
    store: Store, session: SparkDeltaSession, conf: Path, tmp_path: Path
) -> None:
    lake = tables(session, f"{store.lake}/drivers")
    with (
        driver("left", conf, tmp_path / "left") as left,
        driver("right", conf, tmp_path / "right") as right,
    ):
        done = at_once({"left": lambda turn: left(lake, turn), "right": lambda turn: right(lake, turn)})
    if store.several_drivers:
        check_nothing_is_lost(session, lake, done)
    else:
        assert {(end["verdict"], end["changed"], *end["codes"]) for ends in done for end in ends} == {
            ("REFUSED", False, "RQ41")
        }


def test_of_two_jobs_of_a_driver_one_commits_each_version_and_the_other_says_that_it_was_late(
    store: Store, session: SparkDeltaSession
) -> None:
    lake = tables(session, f"{store.lake}/threads")
    unsafe = not store.several_drivers

    def turns_of(writer: str) -> Callable[[int], Tries]:
        own = SparkDeltaSession(session.spark.newSession())
        return lambda turn: tries(own, writer, lake, turn, unsafe=unsafe)

    check_nothing_is_lost(session, lake, at_once({writer: turns_of(writer) for writer in WRITERS}))


class Interrupted(Storages):
    """Storages in which something happens just before the first file is replaced."""

    def __init__(self, happens: Callable[[], object], **known: Any) -> None:
        super().__init__(**known)
        self._happens: list[Callable[[], object]] = [happens]

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        while self._happens:
            self._happens.pop()()
        return super().replace(path, content, stamp)


@pytest.mark.parametrize("by", ["connection", "options"])
@pytest.mark.parametrize("known", [False, True], ids=["first", "later"])
def test_an_audit_that_is_late_does_not_overwrite_what_another_came_to_know(
    store: Store, session: SparkDeltaSession, by: str, known: bool
) -> None:
    folder = f"{store.lake}/states/{by}-{known}"
    table = f"{folder}/table"
    session.sql(f"CREATE TABLE delta.`{table}` (id int) USING delta")
    options = AuditOptions(state_path=f"{folder}/state")
    given: dict[str, Any] = {"options": store.options}
    if by == "connection":
        scheme = table.partition(":")[0]
        given = {"filesystems": {scheme: filesystem_of(StorageAddress.of(table), "store")}}

    def audit(storages: Storages) -> tuple[Verdict, int | None, Any]:
        (report,) = run(JobRequest((table,), options), python_session(storages)).tables
        return report.verdict, report.version, report.evidence and report.evidence["commits"]

    if known:
        assert audit(Storages(**given)) == (Verdict.PASS, 0, 1)
        session.sql(f"INSERT INTO delta.`{table}` VALUES (0)")
    begun = 1 if known else 0

    def another_goes_further() -> None:
        session.sql(f"INSERT INTO delta.`{table}` VALUES (1)")
        assert audit(Storages(**given)) == (Verdict.PASS, begun + 1, begun + 2 - known)

    assert audit(Interrupted(another_goes_further, **given)) == (Verdict.PASS, begun, 1)
    assert audit(Storages(**given)) == (Verdict.PASS, begun + 1, 0)


def test_a_log_store_that_is_not_of_the_scheme_is_refused_by_its_name(store: Store, session: SparkDeltaSession) -> None:
    scheme = store.lake.partition(":")[0]
    table = f"{store.lake}/stored"
    session.sql(f"CREATE TABLE delta.`{table}` (id int) USING delta")
    settings = session.spark.sparkContext._jsc.sc().conf()
    setting = f"spark.delta.logStore.{scheme}.impl"

    def alter() -> TableReport:
        (report,) = run(JobRequest((table,), AlterColumnsOptions(add={"a": "int"}), dry_run=True), session).tables
        return report

    for name in ("LocalLogStore", "S3SingleDriverLogStore"):
        session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        settings.set(setting, f"io.delta.storage.{name}")
        try:
            report = alter()
        finally:
            settings.remove(setting)
        assert [finding.code for finding in report.findings] == ["RQ41"]
        assert f"io.delta.storage.{name}" in report.findings[0].message
    session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert alter().verdict is (Verdict.PASS if store.several_drivers else Verdict.REFUSED)


def test_a_log_store_that_the_engine_lacks_is_named(store: Store, session: SparkDeltaSession) -> None:
    scheme = store.lake.partition(":")[0]
    table = f"{store.lake}/lacking"
    session.sql(f"CREATE TABLE delta.`{table}` (id int) USING delta")
    settings = session.spark.sparkContext._jsc.sc().conf()
    setting = f"spark.delta.logStore.{scheme}.impl"
    session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    settings.set(setting, "io.delta.storage.S3DynamoDBLogStore")
    try:
        (report,) = run(JobRequest((table,), AlterColumnsOptions(add={"a": "int"})), session).tables
    finally:
        settings.remove(setting)
        session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert (report.verdict, report.retryable, report.changed) == (Verdict.FAULT, False, False)
    assert [finding.code for finding in report.findings] == ["FT02"]
    assert "S3DynamoDBLogStore" in report.findings[0].message
