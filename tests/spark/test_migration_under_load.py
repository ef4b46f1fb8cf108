"""Migrations among other writers, and killed by SIGKILL at every point: minutes, so they run by ``make migrations``."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions, PlanMigrationOptions
from tests.spark.test_migration_steps import head
from tests.tables import log
from tests.tables.migrating import DECLARED, plain

pytestmark = pytest.mark.soak

_NEVER = 1_000_000
_MINUTES = 5


def migrate(path: Path, fatal: int) -> dict[str, object] | None:
    """Run a migration in a process of its own; None if it was killed."""
    command = [sys.executable, "-m", "tests.spark.killed_migration", str(path), str(fatal)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 0:
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return found
    assert done.returncode == -9, done.stderr
    return None


def test_killed_at_every_point_a_rerun_leads_to_the_declared_state_and_commits_nothing_twice(built, run_job, tmp_path):
    undisturbed = Path(shutil.copytree(built(plain), tmp_path / "undisturbed"))
    whole = migrate(undisturbed, _NEVER)
    assert whole is not None
    assert whole["verdict"] == "PASS"
    options = ApplyMigrationOptions(spec=(DECLARED,), allow_protocol_upgrade=True, allow_rewrite=True)
    for point in range(int(str(whole["points"]))):
        path = Path(shutil.copytree(built(plain), tmp_path / str(point)))
        assert migrate(path, point) is None, point
        again = run_job([path], options).tables[0]  # by another driver, in which nothing has to start first
        assert (again.verdict, again.findings) == (Verdict.PASS, ()), point
        assert (head(path), log.protocol(path)) == (head(undisturbed), log.protocol(undisturbed)), point
        assert log.newest(path) == log.newest(undisturbed), point
        report = run_job([path], PlanMigrationOptions(spec=(DECLARED,))).tables[0]
        assert report.plan is not None
        assert report.plan["steps"] == [], point


class Writers:
    """Eight writers on one table, each in a session of its own, and what each of them has committed."""

    def __init__(self, spark, path: Path) -> None:
        self._spark, self._table = spark, f"delta.`{path}`"
        self._over = threading.Event()
        self.appended: set[int] = set()
        self.properties: set[str] = set()
        self.failures: list[str] = []
        works: list[Callable[[object, int, int], None]] = [self._append] * 4 + [self._merge] * 2
        works += [self._optimize, self._alter]
        self._threads = [threading.Thread(target=self._work, args=(work, n)) for n, work in enumerate(works)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _work(self, work: Callable[[object, int, int], None], number: int) -> None:
        session, turn = self._spark.newSession(), 0
        while not self._over.is_set():
            turn += 1
            try:
                work(session, number, turn)
            except Exception as error:
                self.failures.append(str(error).split("\n")[0])
            time.sleep(0.5)

    def _append(self, session, number: int, turn: int) -> None:
        key = 1000 * (number + 1) + turn
        session.sql(f"INSERT INTO {self._table} (id, day) VALUES ({key}, DATE'2024-01-0{number + 1}')")
        self.appended.add(key)

    def _merge(self, session, number: int, turn: int) -> None:
        key = 1000 * (number + 1) + turn
        session.sql(
            f"MERGE INTO {self._table} AS t USING (SELECT {key} AS id, DATE'2024-01-09' AS day) AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET day = s.day WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, s.day)"
        )
        self.appended.add(key)

    def _optimize(self, session, number: int, turn: int) -> None:
        session.sql(f"OPTIMIZE {self._table}")
        time.sleep(1)

    def _alter(self, session, number: int, turn: int) -> None:
        name = f"writer.{turn}"
        session.sql(f"ALTER TABLE {self._table} SET TBLPROPERTIES ('{name}' = 'x')")
        self.properties.add(name)
        time.sleep(2)


def test_no_row_and_no_change_of_eight_writers_is_lost_and_the_loser_may_try_again(spark, table, run_job, audit):
    path = table(plain)
    declared = {
        **DECLARED,
        "columns": [{**column, "rewrite": False} if "rewrite" in column else column for column in DECLARED["columns"]],
    }
    declared["columns"] = [column for column in declared["columns"] if column["name"] != "b"]
    declared["constraints"] = {"positive": None, "of_day": "day IS NOT NULL"}
    options = ApplyMigrationOptions(spec=(declared,), allow_protocol_upgrade=True)
    tries, ends = [], time.monotonic() + 60 * _MINUTES
    with Writers(spark, path) as writers:
        while time.monotonic() < ends:
            report = run_job([path], options).tables[0]
            tries.append(report)
            if report.verdict is Verdict.PASS:
                break
            assert report.verdict is Verdict.REFUSED, report.findings
            assert report.retryable, report.findings
        time.sleep(5)
    report = run_job([path], options).tables[0]
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    ids = [row.id for row in spark.read.format("delta").load(str(path)).select("id").collect()]
    assert sorted(ids) == sorted({1, 2, 3} | writers.appended)
    assert writers.properties <= log.configuration(path).keys()
    assert len(writers.appended) > 8
    assert audit(path).findings == ()
    counts = (len(tries), len(writers.appended), len(writers.properties), len(writers.failures))
    print("{} tries, {} rows, {} ALTERs, {} lost races".format(*counts))
