"""Migrations of real tables: applied, killed and gone on with, approved, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.domain.changes.steps import RewriteTable
from airflow_delta_provider.domain.migrations.plan import checksum_of
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions, PlanMigrationOptions
from airflow_delta_provider.jobs.changes import table_change
from tests.spark.test_migration_steps import head
from tests.tables import log
from tests.tables.migrating import DECLARED, plain
from tests.tables.protocols import legacy

ALLOWED = {"allow_protocol_upgrade": True, "allow_rewrite": True}
ROWS = "SELECT id, amount, b, s.x, s.z, l, day FROM delta.`{path}` ORDER BY id"


class Killed(BaseException):
    """Ends a job as a signal would: nothing that follows is done."""


@pytest.fixture
def apply(run_job) -> Callable[..., TableReport]:
    def apply_one(path: Path, spec=DECLARED, **known) -> TableReport:
        how = {key: known.pop(key) for key in ("dry_run", "labels", "progress") if key in known}
        declared = {} if spec is None else {"spec": (spec,)}
        return run_job([path], ApplyMigrationOptions(**declared, **{**ALLOWED, **known}), **how).tables[0]

    return apply_one


RETRY = {"labels": {"run_id": "r1"}, "retry_since": "2020-01-01T00:00:00+00:00"}


@pytest.mark.nightly
@pytest.mark.parametrize("is_approved", [pytest.param(True, marks=pytest.mark.soak), False])
def test_report_of_a_retry_has_the_whole_plan_and_says_which_steps_an_earlier_try_did(
    is_approved, table, run_job, plan
):
    path = table(plain)
    version, protocol, whole = log.newest(path), log.protocol(path), plan(path)
    how = {"plan": (whole,)} if is_approved else {"spec": (DECLARED,)}
    options = ApplyMigrationOptions(**how, **ALLOWED)

    def progress(line: str) -> None:
        if log.newest(path) > version:
            raise Killed

    with pytest.raises(Killed):
        run_job([path], options, labels=RETRY["labels"], progress=progress)
    report = run_job([path], options, **RETRY).tables[0]
    assert (report.verdict, report.changed, report.version_before) == (Verdict.PASS, True, version)
    assert report.plan["digest"] == whole["digest"]
    assert [step["explanation"] for step in report.plan["steps"]] == [step["explanation"] for step in whole["steps"]]
    done = [step.get("done_earlier", False) for step in report.plan["steps"]]
    assert (done[0], done[-1]) == (True, False)
    assert done == sorted(done, reverse=True), "steps are done in order"
    assert report.plan["lint"] == whole["lint"]
    assert report.protocol_before == protocol
    assert min(event["version"] for event in report.history["events"]) == version + 1
    assert ("approval" in report.plan) != is_approved
    nothing_left = run_job([path], options, **RETRY).tables[0]
    assert all(step["done_earlier"] for step in nothing_left.plan["steps"])
    assert nothing_left.history["events"] == report.history["events"]


@pytest.fixture
def plan(run_job) -> Callable[..., dict]:
    def plan_one(path: Path, spec=DECLARED) -> dict:
        report = run_job([path], PlanMigrationOptions(spec=(spec,))).tables[0]
        assert report.plan is not None, report.findings
        return report.plan

    return plan_one


def rows(spark, path):
    return [row.asDict(recursive=True) for row in spark.sql(ROWS.format(path=path)).collect()]


def test_table_becomes_what_is_declared_and_a_second_run_changes_nothing(spark, table, apply, plan, audit):
    path = table(plain)
    version = log.newest(path)
    report = apply(path)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert plan(path)["steps"] == []
    assert [row["amount"] for row in rows(spark, path)] == [10, 20, None]
    assert [row["b"] for row in rows(spark, path)] == [1, 2, None]
    assert log.newest(path) == version + report.plan["commits"]
    again = apply(path)
    assert (again.verdict, again.changed, again.plan["changed"]) == (Verdict.PASS, False, False)
    audited = audit(path, level="data")
    assert audited.findings == ()
    assert again.history is None
    since = [event for event in audited.history["events"] if event["version"] > version]
    assert {"protocol", "added", "widened"} <= {event["kind"] for event in since}
    assert report.history == {**audited.history, "events": since, "omitted": 0}, "what an audit tells, since the plan"


@pytest.mark.soak
def test_killed_after_every_step_in_turn_it_goes_on_and_does_nothing_twice(
    spark, table, apply, plan, audit, monkeypatch
):
    undisturbed, path = table(plain, name="undisturbed"), table(plain)
    approved = plan(path)
    assert len({step["step"] for step in approved["steps"]}) >= 8
    assert apply(undisturbed, spec=None, plan=(plan(undisturbed),)).verdict is Verdict.PASS
    execute = table_change.TableChange._execute

    def killed(self, change, step, version):
        execute(self, change, step, version)
        raise Killed

    kills = 0
    with monkeypatch.context() as patched:
        patched.setattr(table_change.TableChange, "_execute", killed)
        while True:
            try:
                done = apply(path, spec=None, plan=(approved,))
            except Killed:
                kills += 1
            else:
                break
    assert (done.verdict, done.findings, done.changed) == (Verdict.PASS, (), False)
    assert kills == len({step["step"] for step in approved["steps"]})
    assert head(path) == head(undisturbed)
    assert log.protocol(path) == log.protocol(undisturbed)
    assert log.newest(path) == log.newest(undisturbed)
    assert rows(spark, path) == rows(spark, undisturbed)
    assert plan(path)["steps"] == []
    assert audit(path).findings == ()
    digests = {log.user_metadata(path, version)["plan_digest"] for version in log.commits(path) if version > 2}
    assert digests == {approved["digest"]}


def test_nothing_is_done_without_what_it_needs_being_allowed(table, apply):
    path = table(plain)
    version = log.newest(path)
    report = apply(path, allow_protocol_upgrade=False, allow_rewrite=False)
    assert report.verdict is Verdict.REFUSED
    assert {finding.code for finding in report.findings} == {"RQ09", "RQ32"}
    assert log.newest(path) == version


@pytest.mark.nightly
def test_approved_plan_waits_for_appends_but_not_for_a_change_of_metadata(spark, table, apply, plan):
    path = table(plain)
    approved = plan(path)
    spark.sql(f"INSERT INTO delta.`{path}` (id, a, b, s, l, m, day) SELECT 4, a, b, s, l, m, day FROM delta.`{path}` "
              "WHERE id = 1")  # fmt: skip
    edited = json.loads(json.dumps(approved).replace("amount_known", "amount_unknown"))
    assert [f.code for f in apply(path, spec=None, plan=(edited,)).findings] == ["RQ64"]
    assert apply(path, spec=None, plan=(approved,), approved_by="ada").verdict is Verdict.PASS
    assert log.user_metadata(path, log.newest(path)) == {"plan_digest": approved["digest"], "approved_by": "ada"}
    moved = table(plain, name="moved")
    approved = plan(moved)
    spark.sql(f"ALTER TABLE delta.`{moved}` SET TBLPROPERTIES ('team' = 'other')")
    report = apply(moved, spec=None, plan=(approved,))
    assert [finding.code for finding in report.findings] == ["RQ64"]
    assert "version" in report.findings[0].message


@pytest.mark.nightly
def test_table_is_clustered_for_the_first_time_along_with_other_changes(spark, table, apply, plan, audit):
    path = table(legacy)
    spec = {"columns": [{"name": "id", "type": "bigint"}], "features": ["typeWidening"], "cluster_by": ["id"]}
    report = apply(path, spec)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()["clusteringColumns"] == ["id"]
    assert plan(path, spec)["steps"] == []
    assert audit(path).findings == ()


@pytest.mark.nightly
def test_rows_that_stand_against_any_step_refuse_the_whole_plan_before_its_first(spark, table, apply):
    path = table(plain)
    spark.sql(f"UPDATE delta.`{path}` SET b = 'x', day = null WHERE id = 2")
    spark.sql(f"UPDATE delta.`{path}` SET a = null WHERE id = 1")
    version = log.newest(path)
    for dry_run in (True, False):
        report = apply(path, dry_run=dry_run)
        assert report.verdict is Verdict.REFUSED
        assert sorted((finding.code, finding.column) for finding in report.findings) == [
            ("RQ70", "day"),
            ("RQ71", "b"),
            ("RQ73", None),
        ]
        assert log.newest(path) == version
    spark.sql(f"UPDATE delta.`{path}` SET b = '2', day = DATE'2024-01-02' WHERE id = 2")
    spark.sql(f"UPDATE delta.`{path}` SET a = 1 WHERE id = 1")
    assert apply(path).verdict is Verdict.PASS


@pytest.mark.nightly
@pytest.mark.soak
def test_row_that_comes_between_plan_and_rewrite_ends_it_there_and_a_rerun_goes_on(spark, table, apply, monkeypatch):
    path = table(plain)

    def executed(self, change, step, version):
        if isinstance(step, RewriteTable):
            spark.newSession().sql(f"UPDATE delta.`{path}` SET b = 'x' WHERE id = 2")
        return execute(self, change, step, version)

    execute = table_change.TableChange._execute
    with monkeypatch.context() as patched:
        patched.setattr(table_change.TableChange, "_execute", executed)
        report = apply(path)
    assert (report.verdict, [f.code for f in report.findings]) == (Verdict.REFUSED, ["RQ71"])
    assert report.changed
    spark.sql(f"UPDATE delta.`{path}` SET b = '2' WHERE id = 2")
    assert apply(path).verdict is Verdict.PASS


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("statement", "retryable", "codes"),
    [
        ("ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'other')", False, ["RQ15", "RQ64"]),
        pytest.param("INSERT INTO {t} SELECT * FROM {t} LIMIT 0", None, [], marks=pytest.mark.soak),
    ],
)
def test_change_by_others_under_an_approved_plan_is_retryable_only_if_a_retry_can_succeed(
    spark, table, apply, plan, statement, retryable, codes
):
    path = table(plain)
    approved = plan(path)
    first, done = approved["steps"][0]["explanation"], []

    def someone_else(line: str) -> None:
        if first in line and not done:
            done.append(line)
            spark.newSession().sql(statement.format(t=f"delta.`{path}`"))

    report = apply(path, spec=None, plan=(approved,), progress=someone_else)
    assert done
    assert [finding.code for finding in report.findings] == codes
    if codes:
        assert (report.verdict, report.retryable, report.changed) == (Verdict.REFUSED, retryable, False)
        again = apply(path, spec=None, plan=(approved,))
        assert [finding.code for finding in again.findings] == ["RQ64"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"constraints": {"positive": "id > 0", "guess": "(SELECT count(*) FROM text.`{secret}`) = 0"}}, "subquery"),
        (
            {"constraints": {"positive": "id > 0", "code": "java_method('java.lang.System', 'gc') IS NULL"}},
            "can run code",
        ),
    ],
)
def test_constraint_of_a_spec_that_could_read_more_than_the_row_is_refused_unevaluated(
    table, apply, tmp_path, spec, said
):
    path, secret = table(plain), tmp_path / "key.txt"
    secret.write_text("Alpha")
    spec = json.loads(json.dumps(spec).replace("{secret}", str(secret)))
    version = log.newest(path)
    report = apply(path, spec)
    assert (report.verdict, [f.code for f in report.findings]) == (Verdict.REFUSED, ["RQ65"])
    assert said in report.findings[0].message
    assert log.newest(path) == version


def test_table_whose_own_expression_could_read_more_than_the_row_is_not_rewritten(table, apply):
    path = table(plain)
    metadata = log.last(path, "metaData")
    metadata["configuration"]["delta.constraints.code"] = "java_method('java.lang.System', 'gc') IS NULL"
    version = log.commit(path, {"commitInfo": {"operation": "ADD CONSTRAINT"}}, {"metaData": metadata})
    report = apply(path, {"columns": [{"name": "b", "type": "int", "rewrite": True}]})
    assert [f.code for f in report.findings] == ["RQ65"]
    assert "java_method, which can run code" in report.findings[0].message
    assert log.newest(path) == version


def test_plan_whose_approval_was_emptied_is_refused_unless_the_policy_at_apply_time_lets_it_pass(table, apply, plan):
    path = table(plain)
    made = plan(path, {"comment": "New"})
    assert made["approval"] == ["There is no policy file, and only a policy file allows plans without approval."]
    forged = {**made, "approval": []}
    forged["checksum"] = checksum_of(forged)
    version = log.newest(path)
    report = apply(path, spec=None, plan=(forged,), unasked=(str(path),))
    assert (report.verdict, [f.code for f in report.findings]) == (Verdict.REFUSED, ["RQ78"])
    assert log.newest(path) == version
    policy = {"tables": [{"table": "*", "approve_without_asking": ["no_errors"]}]}
    assert apply(path, spec=None, plan=(forged,), unasked=(str(path),), policy=policy).verdict is Verdict.PASS
