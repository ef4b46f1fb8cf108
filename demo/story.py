"""The story, step by step; what each step claims is checked in the log and in the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from demo.airflow_home import AirflowHome, DagRunner, TaskOutcome
from demo.approver import Approver
from demo.claim import Claims
from demo.damage import copy_with_colliding_ids
from demo.flights import CHANGES, FIRST_DAY_TOO_MANY, SMALL_COLUMNS, SOURCE, FlightsTable
from demo.screen import Screen
from demo.table_log import TableLog, recorded_changes

STEPS = 10
_LOOK_EVERY = 0.3


class Story:
    """Ten steps in a folder.

    :param screen: where it is told
    :param folder: where everything lies
    :param dags: the folder of the example DAGs
    """

    def __init__(self, screen: Screen, folder: Path, dags: Path) -> None:
        self._screen = screen
        self._claims = Claims(screen)
        self._folder = folder
        self._dags = dags
        self._path = folder / "lake" / "flights"
        self._log = TableLog(self._path)
        self._airflow = AirflowHome(folder / "airflow", dags, folder / "cache", folder / "logs")

    def tell(self) -> None:
        """Tell it.

        :raises ClaimFailedError: if something did not come true
        """
        self._screen.title("A Delta table whose types become too small, and the Airflow DAGs that fix it")
        self._screen.say("About four minutes. Lines with a tick were checked in the table's log and in its data.")
        self._screen.step("A table of real data")
        self._screen.say(f"Source: {SOURCE}.", "Spark builds the table; beside it Airflow makes its database.")
        migration = self._airflow.start_migration()
        flights = FlightsTable(self._path, self._folder)
        try:
            self._screen.event(f"{flights.prepare():,} flights, with running totals for each airline")
            self._airflow.finish_migration(migration)
            with self._airflow.runner() as runner:
                before = self._build(flights)
                self._show_overflow(flights)
                self._enable_and_widen(flights, runner, before)
                self._append(flights, before)
                self._change_rows(flights, runner)
                self._find_collision(flights, runner)
                self._refuse(flights, runner)
                self._migrate(flights, runner)
                self._drift(flights, runner)
            self._show_history(flights)
        finally:
            flights.stop()
            if migration.poll() is None:
                migration.kill()

    def _build(self, flights: FlightsTable) -> int:
        flights.create()
        count, largest = flights.count(), flights.largest()
        self._screen.event(f"{self._relative(self._path)}: {count:,} flights, those until 23 July")
        self._screen.say("Four columns count upwards, and are close to what their types can hold:")
        self._screen.rows(
            ("column", "type", "what it holds", "largest now", "limit"),
            [(c.path, c.old, c.holds, f"{largest[c.path]:,}", f"{c.limit:,}") for c in SMALL_COLUMNS],
        )
        types = self._log.types()
        self._claims.check(
            "the table is a Delta table with these types",
            {c.path: c.old for c in SMALL_COLUMNS}.items() <= types.items(),
        )
        return count

    def _show_overflow(self, flights: FlightsTable) -> None:
        self._screen.step("The next day does not fit")
        self._screen.say("On 24 July United takes off for the 32,768th time this year. Spark tries to append:")
        version = self._log.version
        reason = flights.why_the_rest_does_not_fit()
        self._screen.show(reason or "nothing, it was appended")
        self._claims.check(
            f"nothing was appended, the table is still at version {version}",
            reason is not None and self._log.version == version,
            reason,
        )

    def _enable_and_widen(self, flights: FlightsTable, runner: DagRunner, rows: int) -> None:
        self._screen.step("A DAG switches on what is needed and widens four columns in one commit")
        version, fingerprint = self._log.version, flights.fingerprint()
        columns = {c.path: c.new for c in SMALL_COLUMNS}
        tasks = self._run(runner, "enable_features_and_widen", table=str(self._path), columns=columns)
        enable, widen = tasks["enable_features"], tasks["widen_columns"]
        for task in (enable, widen):
            self._claims.check(f"task {task.task_id} ended {_verdict(task)}", _verdict(task) == "PASS", task)
        self._check_features()
        self._check_widening(version)
        self._claims.check(
            f"the {rows:,} rows there were read the same as before",
            flights.count() == rows and flights.fingerprint() == fingerprint,
        )

    def _check_features(self) -> None:
        features = set(self._log.last("protocol").get("writerFeatures") or ())
        settings = self._log.last("metaData")["configuration"]
        wanted = {"typeWidening", "rowTracking"}
        switched_on = all(
            settings.get(name) == "true" for name in ("delta.enableTypeWidening", "delta.enableRowTracking")
        )
        self._claims.check(
            "typeWidening and rowTracking are in the protocol and switched on",
            wanted <= features and switched_on,
            settings,
        )
        files = self._log.live_files()
        self._claims.check(
            f"each of the {len(files)} data files got its row ids",
            bool(files) and all({"baseRowId", "defaultRowCommitVersion"} <= file.keys() for file in files),
            files,
        )

    def _check_widening(self, before: int) -> None:
        widening = [c for c in self._log.commits() if c.version > before and c.task == "widen_columns"]
        self._claims.check("widening took one commit", len(widening) == 1, [c.version for c in widening])
        commit = widening[0]
        old, new = self._log.types(commit.version - 1), self._log.types(commit.version)
        changed = {path: type_ for path, type_ in new.items() if old.get(path) != type_}
        self._claims.check(
            f"version {commit.version} changed these four columns and no other",
            changed == {c.path: c.new for c in SMALL_COLUMNS},
            changed,
        )
        recorded = recorded_changes(self._log.schema(commit.version))
        self._claims.check(
            "the log records each change where readers look for it (delta.typeChanges)",
            recorded == {c.path: (c.old, c.new) for c in SMALL_COLUMNS},
            recorded,
        )
        self._claims.check("no data file was rewritten for it", not (commit.all("add") or commit.all("remove")))

    def _append(self, flights: FlightsTable, before: int) -> None:
        self._screen.step("The rest of the year arrives")
        version = self._log.version
        flights.append_rest()
        count, largest = flights.count(), flights.largest()
        self._screen.event(
            f"Spark appended {count - before:,} flights, from {FIRST_DAY_TOO_MANY} to the end of the year"
        )
        self._screen.rows(
            ("column", "type", "largest now", "the old type ended at"),
            [(c.path, c.new, f"{largest[c.path]:,}", f"{c.limit:,}") for c in SMALL_COLUMNS],
        )
        self._claims.check(
            f"one commit, version {version + 1}, and all four columns hold what did not fit before",
            self._log.version == version + 1 and all(largest[c.path] > c.limit for c in SMALL_COLUMNS),
            largest,
        )
        self._claims.check(
            f"all {count:,} rows read back with the values of the source",
            flights.fingerprint() == flights.expected_fingerprint(),
        )
        with_id, different = flights.row_ids()
        self._claims.check("every row, old or new, has a row id of its own", with_id == different == count, different)

    def _change_rows(self, flights: FlightsTable, runner: DagRunner) -> None:
        self._screen.step("Rows are moved and changed, and keep their ids")
        self._screen.say("Each row has an id that should be its own for ever. Spark changes rows as any user would:")
        identity = flights.identity()
        for change in CHANGES:
            flights.change(change)
            commit = self._log.commits()[-1]
            self._screen.event(f"{change.operation}: {change.why}: {self._log.what_changed(commit)}")
        with_id, different = flights.row_ids()
        self._claims.check(
            f"Spark reads {different:,} different row ids for {flights.count():,} rows",
            with_id == different == flights.count(),
            (with_id, different),
        )
        self._claims.check("every flight that stayed kept its row id", flights.identity() == identity)
        before = self._files()
        check = self._run(runner, "check_row_tracking", tables=[str(self._path)])["check_row_ids"]
        self._claims.check(
            "the check of row ids ended PASS, without a finding",
            _verdict(check) == "PASS" and not _findings(check),
            check,
        )
        self._claims.check("it wrote nothing", self._files() == before)

    def _find_collision(self, flights: FlightsTable, runner: DagRunner) -> None:
        self._screen.step("A copy of the table whose log was damaged")
        copy = self._path.with_name("flights_damaged")
        moved = copy_with_colliding_ids(self._path, copy, "MERGE")
        self._screen.say(
            f"{self._relative(copy)}: in version {moved.version} a file's baseRowId is now {moved.new}, it was "
            f"{moved.old:,}. Spark silently reads and writes such a table:"
        )
        with_id, different = flights.row_ids(copy)
        self._screen.event(f"Spark finds {different:,} row ids for {with_id:,} rows, and says nothing")
        check = self._run(runner, "check_row_tracking", tables=[str(copy)])["check_row_ids"]
        findings = _findings(check)
        for finding in findings:
            at = f"version {finding.get('version')}, {finding.get('operation')} by {finding.get('engine')}"
            self._screen.show(f"Violated, rule {finding['code']}, {at}:\n{finding['message']}")
        self._claims.check(
            "the task failed with one finding, RT19: row ids that are not unique",
            check.state == "failed" and _verdict(check) == "VIOLATED" and [f["code"] for f in findings] == ["RT19"],
            check,
        )
        self._claims.check(
            "the finding names the file that was tampered with, and the commit that added it",
            moved.path in findings[0]["message"] and findings[0].get("version") == moved.version,
            findings,
        )
        self._claims.check(
            f"it counts the {with_id - different:,} rows that have another row's id",
            findings[0]["message"].startswith(f"{with_id - different:,} rows share"),
            findings,
        )

    def _refuse(self, flights: FlightsTable, runner: DagRunner) -> None:
        self._screen.step("A request for the small type is refused")
        self._screen.say(
            "The request: distance to int, which is allowed, and carrier_flights back to smallint, which is not."
        )
        before, fingerprint = self._files(), flights.fingerprint()
        columns = {"distance": "int", "carrier_flights": "smallint"}
        tasks = self._run(runner, "refused_change", table=str(self._path), columns=columns)
        change, told = tasks["change_types"], tasks["tell_the_owners"]
        findings = _findings(change)
        for finding in findings:
            self._screen.show(f"Refused, rule {finding['code']}, column {finding.get('column')}:\n{finding['message']}")
        message = findings[0]["message"] if findings else ""
        self._claims.check(
            "the task failed with that one finding, RQ11, and its verdict is REFUSED",
            change.state == "failed" and _verdict(change) == "REFUSED" and [f["code"] for f in findings] == ["RQ11"],
            change,
        )
        self._claims.check(
            "the message names the column, its type, the type asked for and what would be legal",
            all(word in message for word in ("carrier_flights is int", "smallint", "Allowed from int: bigint")),
            message,
        )
        self._claims.check(
            "the task after it read the finding and told the owners",
            told.state == "success" and told.xcoms.get("return_value") == [f"RQ11: {message}"],
            told,
        )
        self._claims.check(
            "nothing was changed, not even distance: no new version, no new file, the same values",
            self._files() == before and flights.fingerprint() == fingerprint,
        )

    def _migrate(self, flights: FlightsTable, runner: DagRunner) -> None:
        self._screen.step("A spec declares more than the table has, and somebody approves the plan")
        spec = self._dags / "specs" / "flights.yaml"
        self._screen.say(f"{self._relative(spec)}:")
        self._screen.show("\n".join(line for line in spec.read_text().splitlines() if not line.startswith("#")))
        version, rows, files = self._log.version, flights.count(), self._log.live_files()
        with self._airflow.api_server() as api:
            people = Approver(api, self._screen, self._log)
            tasks = self._run(runner, "migrate_table", people.look, table=str(self._path))
        self._claims.check(
            "nothing was changed before somebody had approved the plan",
            people.approved_at == version,
            people.approved_at,
        )
        verify = tasks["delta_migration.verify"]
        self._claims.check("the table is what its spec declares", _verdict(verify) == "PASS", verify)
        self._claims.check(
            "the column has its new name, and the new column and the constraint are there",
            {"destination": "string", "cancelled": "boolean"}.items() <= self._log.types().items()
            and "dest" not in self._log.types()
            and self._log.last("metaData")["configuration"].get("delta.constraints.flies_somewhere") == "distance > 0",
            self._log.types(),
        )
        labels = [c.label("approved_by") for c in self._log.commits() if c.task == "delta_migration.apply"]
        self._claims.check(
            f"each of its {len(labels)} commits names who approved it",
            bool(labels) and all(people.name in label for label in labels),
            labels,
        )
        self._claims.check(
            f"no data file was touched, and all {rows:,} rows are there",
            self._log.live_files() == files and flights.count() == rows,
        )

    def _drift(self, flights: FlightsTable, runner: DagRunner) -> None:
        self._screen.step("Somebody appends with mergeSchema, and the drift is named")
        version = flights.append_with_schema_evolution()
        self._screen.event(f"a careless job appends a flight in version {version}; Spark silently changes the schema")
        check = self._run(runner, "check_drift", table=str(self._path))["check_drift"]
        findings = _findings(check)
        for finding in findings:
            self._screen.show(f"Violated, rule {finding['code']}:\n{finding['message']}")
        self._claims.check(
            "the task failed with one finding, DR05: the column flight has another type than declared",
            check.state == "failed" and [(f["code"], f.get("column")) for f in findings] == [("DR05", "flight")],
            check,
        )
        self._claims.check(
            f"it names version {version}, its operation and the engine",
            findings[0].get("version") == version
            and all(word in findings[0]["message"] for word in ("WRITE", "Delta-Lake/", "flight is int")),
            findings,
        )

    def _show_history(self, flights: FlightsTable) -> None:
        self._screen.step("What the table's history says")
        commits = self._log.commits()
        self._screen.rows(
            ("version", "operation", "by task", "what changed"),
            [(str(c.version), c.operation, c.task or "-", self._log.what_changed(c)) for c in commits],
        )
        self._claims.check(
            "DESCRIBE HISTORY tells the same", flights.operations() == {c.version: c.operation for c in commits}
        )
        makers = [c.task for c in commits if c.task]
        self._claims.check(
            "every commit of a task carries the task's name, and the refused task has none",
            set(makers) == {"enable_features", "widen_columns", "delta_migration.apply"},
            makers,
        )

    def _run(
        self, runner: DagRunner, dag_id: str, meanwhile: Callable[[], None] = lambda: None, **params: Any
    ) -> dict[str, TaskOutcome]:
        """Run an example DAG and show the commits to the table as they appear.

        :param meanwhile: what else is done now and then
        """
        self._screen.say(f"Airflow runs {self._relative(self._dags / dag_id)}.py:")
        seen, started = self._log.version, 0
        run = runner.start(dag_id, **params)
        while True:
            running = run.running
            for task_id in run.started()[started:]:
                self._screen.event(f"task {task_id} starts")
                started += 1
            for commit in self._log.commits():
                if commit.version > seen:
                    self._screen.event(
                        f"version {commit.version} is in the table's log: {self._log.what_changed(commit)}"
                    )
                    seen = commit.version
            if not running:
                break
            meanwhile()
            time.sleep(_LOOK_EVERY)
        tasks = run.tasks()
        self._screen.event("the DAG run ended: " + ", ".join(f"{t.task_id} {t.state}" for t in tasks.values()))
        return tasks

    def _files(self) -> list[tuple[str, int, int]]:
        return sorted(
            (str(path.relative_to(self._path)), path.stat().st_size, path.stat().st_mtime_ns)
            for path in self._path.rglob("*")
            if path.is_file()
        )

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._folder.parent))


def _findings(task: TaskOutcome) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = task.xcoms.get("findings", {}).get("findings", [])
    return found


def _verdict(task: TaskOutcome) -> str:
    return str(task.xcoms.get("return_value", {}).get("verdict", f"without a verdict, {task.state}"))
