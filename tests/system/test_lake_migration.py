"""``migrate_lake`` over all of its tables, undisturbed and with jobs that are killed: minutes, so by ``make kills``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import psutil
import pytest
from pyspark.sql import SparkSession

from demo.process_tree import end_tree
from tests.system.airflow_services import AirflowServices, airflow_home, services_of
from tests.system.approver import answered
from tests.system.lake import MIGRATED, ROWS, copy_example, logged, make_tables, rows
from tests.system.process_tree import ProcessTree, wait_for
from tests.tables import log

pytestmark = pytest.mark.soak

_EXAMPLE = Path(__file__).resolve().parents[2] / "dags_examples" / "migrate_lake.py"
#: Tables whose migration has to be approved.
_ASKED = {"customers", "orders", "stock"}
#: After which version the job of a table is killed: column mapping enabled, NULL forbidden, data files rewritten.
_KILLS = {"customers": 2, "orders": 4, "stock": 4}


@dataclass(frozen=True)
class Undisturbed:
    """What came of a run that nobody disturbed.

    :param operations: of the commits of each table, by name
    """

    services: AirflowServices
    lake: Path
    before: Path
    steps: int
    asked: set[str]
    states: dict[str, list[str | None]]
    operations: dict[str, list[str]]


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    """An Airflow whose only DAG is the example, after its first run."""
    folder = tmp_path_factory.mktemp("lake")
    home = airflow_home(folder, [_EXAMPLE])
    copy_example(folder / "dags", folder / "lake", ["sales.yaml", "stock.yaml", "returns.yaml"])
    home.environment["AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY"] = "1"
    home.finish_migration(home.start_migration())
    tables = make_tables(spark, folder / "lake")
    before = Path(shutil.copytree(folder / "lake", folder / "before"))
    with services_of(home) as services:
        run = services.trigger("migrate_lake")
        asked = answered(run)
        assert run.state == "success", run.states()
        plans = [run.xcom(f"migrations.{name}.plan", "plans")[str(path)] for name, path in tables.items()]
        steps = sum(len(plan["steps"]) for plan in plans)
        done = {name: operations(path) for name, path in tables.items()}
        yield Undisturbed(services, folder / "lake", before, steps, set(asked), run.states(), done)


def operations(table: Path) -> list[str]:
    """Return the operation of each commit."""
    return [
        action["commitInfo"]["operation"]
        for _, actions in sorted(log.commits(table).items())
        for action in actions
        if "commitInfo" in action
    ]


def is_migrated(spark: SparkSession, lake: Path) -> bool:
    """Check that all tables are what their specs declare, with their rows."""
    for name, wanted in MIGRATED.items():
        assert logged(lake / name) == wanted
        assert rows(spark, lake / name) == ROWS[name]
    return True


class Kill(Thread):
    """Kills the job of a task by SIGKILL, as soon as it committed a version of a table.

    :param tree: the processes to find the job in
    """

    def __init__(self, tree: ProcessTree, task_id: str, table: Path, version: int) -> None:
        super().__init__(daemon=True)
        self._tree = tree
        self._task_id = task_id
        self._table = table
        self._version = version
        self.version: int | None = None
        """The newest one when the job was dead."""

    def run(self) -> None:
        job = wait_for(self._job, f"the job of {self._task_id}", 900)
        committed = log.log_file(self._table, self._version)
        wait_for(committed.exists, f"version {self._version}", 120, every=0.001)
        for process in job:
            end_tree(process.pid)
        self.version = log.newest(self._table)

    def _job(self) -> list[psutil.Process]:
        return [
            process
            for process in self._tree.below("SparkSubmit", "delta_provider_job")
            if _task_of(process) == self._task_id
        ]


def _task_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("AIRFLOW_CTX_TASK_ID")
    except psutil.Error:
        return None


def test_thirty_steps_over_five_tables_lead_to_what_is_declared_and_the_second_run_has_nothing_to_do(
    spark: SparkSession, undisturbed: Undisturbed
) -> None:
    assert undisturbed.steps >= 30
    assert undisturbed.asked == {f"migrations.{name}.approve" for name in _ASKED}
    states = {f"migrations.{name}": ["success"] for name in ("before_wave_2", "before_wave_3", "done")}
    for name in MIGRATED:
        states |= {f"migrations.{name}.{task}": ["success"] for task in ("plan", "apply", "verify")}
        states[f"migrations.{name}.approve"] = ["success" if name in _ASKED else "skipped"]
    assert undisturbed.states == states
    assert is_migrated(spark, undisturbed.lake)
    before = log.contents(undisturbed.lake)
    run = undisturbed.services.trigger("migrate_lake")
    assert answered(run) == {}
    assert run.states() == {**states, **{f"migrations.{name}.approve": ["skipped"] for name in MIGRATED}}
    assert log.contents(undisturbed.lake) == before


def test_killed_jobs_are_retried_and_do_nothing_twice(spark: SparkSession, undisturbed: Undisturbed) -> None:
    lake = undisturbed.lake
    shutil.rmtree(lake)
    shutil.copytree(undisturbed.before, lake)
    kills = {
        name: Kill(undisturbed.services.tree, f"migrations.{name}.apply", lake / name, version)
        for name, version in _KILLS.items()
    }
    for kill in kills.values():
        kill.start()
    run = undisturbed.services.trigger("migrate_lake")
    answered(run)
    assert {name: kill.version for name, kill in kills.items()} == _KILLS
    assert run.states() == undisturbed.states
    assert {name: run.tries(f"migrations.{name}.apply") for name in MIGRATED} == {
        name: 2 if name in _KILLS else 1 for name in MIGRATED
    }
    assert is_migrated(spark, lake)
    assert {name: operations(lake / name) for name in MIGRATED} == undisturbed.operations
