"""SQL of the jobs means what it says, whatever the session makes of SQL that others give it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.jobs.spark.session import SQL_SETTINGS, configured
from tests.tables import log
from tests.tables.altering import oddly_named
from tests.tables.protocols import legacy

pytestmark = pytest.mark.nightly

#: What Spark replaces in a statement, and in the value of a setting.
APPLICATION = "${spark.app.name}"
HOME = "${env:HOME}"
#: Each as a default session has it not.
OTHERWISE = {
    key: {"true": "false", "false": "true", "TIMESTAMP_LTZ": "TIMESTAMP_NTZ"}[value]
    for key, value in SQL_SETTINGS.items()
} | {"spark.sql.ansi.enabled": "true"}


def updated(spark, path) -> None:
    """Row tracking; an UPDATE after an INSERT."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, name string) USING delta TBLPROPERTIES "
        "('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ id, 'x' FROM range(9)")
    spark.sql(f"UPDATE delta.`{path}` SET name = 'y' WHERE id = 4")


@contextmanager
def having(spark, settings) -> Iterator[None]:
    """Set settings of the session as a user would; check that they are as they were afterwards."""
    with configured(spark, settings):
        yield
        assert {key: spark.conf.get(key) for key in settings} == settings


def done(report) -> bool:
    return (report.verdict, report.changed, report.findings) == (Verdict.PASS, True, ())


def test_table_whose_path_holds_a_variable_is_the_one_that_is_changed(table, tmp_path, enable, widen, run_job, spark):
    path = table(legacy, name=f"{APPLICATION} t")
    decoy = shutil.copytree(path, tmp_path / f"{spark.conf.get('spark.app.name')} t")
    before = log.contents(decoy)
    assert done(enable(path, "typeWidening", "checkConstraints"))
    assert done(widen(path, {"id": "bigint"}, verify="log"))
    assert done(run_job([path], DropFeatureOptions(features=("checkConstraints",))).tables[0])
    assert log.contents(decoy) == before


def test_text_that_looks_like_a_variable_is_stored_as_it_is(table, alter, enable, session):
    path = table(oddly_named)
    label = {"run_id": f"manual {HOME}", "dag_id": APPLICATION}
    added = {f"`{HOME}`": "int", "deep": f"struct<`{APPLICATION}`:int>"}
    assert done(alter(path, add=added, rename={"id": APPLICATION.replace(".", "_")}, drop=["l"], labels=label))
    assert done(enable(path, "appendOnly", properties={f"team {HOME}": f"{APPLICATION} ${{hiveconf:x}}"}, labels=label))
    metadata = session.open_table(str(path)).log.read_state().metadata
    names = [field.name for field in metadata.schema.fields]
    assert {HOME, "deep", "${spark_app_name}"} <= set(names)
    assert APPLICATION in str(metadata.schema.fields[names.index("deep")].data_type)
    assert metadata.configuration[f"team {HOME}"] == f"{APPLICATION} ${{hiveconf:x}}"
    assert log.user_metadata(path, log.newest(path)).items() >= label.items()


def test_changes_and_checks_do_the_same_however_the_session_reads_sql(table, alter, enable, widen, run_job, spark):
    path, tracked = table(oddly_named), table(updated, name="tracked")
    team = r"it's \a \' $"
    with having(spark, OTHERWISE):
        assert done(alter(path, rename={"`a.b`": "select", '`it\'s "so"`': "(x)?"}, add={"at": "timestamp"}))
        assert done(widen(path, {"`(x)?`": "bigint", "l.element.x": "bigint"}))
        assert done(enable(path, "appendOnly", properties={"team": team}))
        for options in (
            CheckRowTrackingOptions(level="data", compare_to_version=1, key_columns=("id",)),
            DetailOptions(),
        ):
            (report,) = run_job([tracked], options).tables
            assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert log.configuration(path)["team"] == team
    assert spark.table(f"delta.`{path}`").schema["at"].dataType.simpleString() == "timestamp"


@pytest.mark.parametrize("name", ["comment", "owner", "location", "provider", "external", "is_managed_location"])
def test_property_that_no_statement_stores_is_refused_beforehand(table, enable, name):
    path = table(legacy)
    before = log.contents(path)
    report = enable(path, "appendOnly", properties={name: "x"}, dry_run=True)
    assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.REFUSED, ["RQ08"])
    assert log.contents(path) == before
