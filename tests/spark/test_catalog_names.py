"""Tables by the names that Spark's catalogs have for them, one by one and by schema."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.options import DetailOptions


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Iterator[Path]:
    """Return the folder of a schema ``named``: two Delta tables, a Parquet table, a view."""
    folder = tmp_path_factory.mktemp("named")
    spark.sql("CREATE SCHEMA named")
    spark.sql("CREATE SCHEMA bare")
    spark.sql("CREATE SCHEMA hollow")
    spark.sql(f"CREATE TABLE named.Orders (id int) USING delta LOCATION '{folder}/a b%20c'")
    spark.sql(f"CREATE TABLE named.orders_old (id int) USING delta LOCATION '{folder}/old'")
    spark.sql(f"CREATE TABLE named.raw (id int) USING parquet LOCATION '{folder}/raw'")
    spark.sql("CREATE VIEW named.recent AS SELECT * FROM named.orders")
    spark.sql("CREATE VIEW bare.recent AS SELECT 1 AS id")
    yield folder
    for schema in ("named", "bare", "hollow"):
        spark.sql(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(scope="module")
def derby(spark) -> Iterator[str]:
    """Return the name of another catalog than Spark's own: a database that has a table ``APP.PEOPLE``."""
    spark.conf.set("spark.sql.catalog.derby", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    spark.conf.set("spark.sql.catalog.derby.url", "jdbc:derby:memory:catalogs;create=true")
    spark.conf.set("spark.sql.catalog.derby.driver", "org.apache.derby.jdbc.EmbeddedDriver")
    spark.sql("CREATE TABLE derby.APP.PEOPLE (id int)")
    yield "derby"
    spark.sql("DROP TABLE derby.APP.PEOPLE")
    spark.conf.unset("spark.sql.catalog.derby")


@pytest.fixture
def said(run_job):
    """Return verdict and sentence of the audit of one name."""

    def say(table: str) -> tuple[Verdict, str]:
        (report,) = run_job([table], AuditOptions()).tables
        return report.verdict, " ".join(finding.evidence for finding in report.findings)

    return say


@pytest.mark.parametrize(
    "name",
    ["named.orders", "NAMED.ORDERS", "`named`.`orders`", "spark_catalog.named.orders", "SPARK_CATALOG.named.Orders"],
)
def test_table_is_found_by_each_spelling_of_its_name_where_the_catalog_has_it(run_job, lake, name):
    (report,) = run_job([name], DetailOptions()).tables
    assert (report.verdict, report.table) == (Verdict.PASS, name)
    assert report.detail["location"].removeprefix("file:") == f"{lake}/a b%20c"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("named.ordrs", "There is no table named.ordrs in the catalog. Did you mean 'orders' or 'orders_old'?"),
        ("named.zzz", "There is no table named.zzz in the catalog."),
        (
            "nmed.orders",
            "There is no table nmed.orders in the catalog. There is no schema nmed. Did you mean 'named'?",
        ),
        (
            "main.named.orders",
            "There is no table main.named.orders in the catalog. "
            "There is no catalog main: spark.sql.catalog.main is not set.",
        ),
        ("named.raw", "named.raw is a parquet table, not a Delta table."),
        ("named.recent", "named.recent is a view, not a Delta table."),
        ("nmed.*", "There is no schema nmed in the catalog. Did you mean 'named'?"),
        (
            "main.named.*",
            "There is no schema main.named in the catalog. "
            "There is no catalog main: spark.sql.catalog.main is not set.",
        ),
        ("bare.*", "The schema bare has no Delta tables, only 1 view."),
        ("hollow.*", "The schema hollow has no Delta tables: it is empty."),
    ],
)
def test_name_that_leads_to_no_delta_table_is_refused_with_what_is_near(lake, said, name, message):
    assert said(name) == (Verdict.REFUSED, message)


def test_table_whose_location_is_gone_is_refused_with_the_location(spark, lake, said, tmp_path):
    spark.sql(f"CREATE TABLE named.gone (id int) USING delta LOCATION '{tmp_path}/gone'")
    try:
        shutil.rmtree(tmp_path / "gone")
        verdict, message = said("named.gone")
    finally:
        spark.sql("DROP TABLE named.gone")
    assert verdict is Verdict.REFUSED
    assert message == f"The catalog has named.gone at file:{tmp_path}/gone, and there is no such directory."


def test_schema_stands_for_its_delta_tables_and_the_others_are_counted(run_job, lake):
    told: list[str] = []
    reports = run_job(["nmed.*", "spark_catalog.named.*"], AuditOptions(), progress=told.append).tables
    assert [(report.table, report.verdict) for report in reports] == [
        ("nmed.*", Verdict.REFUSED),
        ("spark_catalog.named.orders", Verdict.PASS),
        ("spark_catalog.named.orders_old", Verdict.PASS),
    ]
    assert "spark_catalog.named: 2 Delta tables; left out: 1 parquet table, 1 view" in told
    reports = run_job(["named.*"], AuditOptions(), exclude=["named.*_old"]).tables
    assert [report.table for report in reports] == ["named.orders"]


def test_what_was_listed_is_asked_again_in_the_next_job(spark, run_job, lake, tmp_path):
    spark.sql(f"CREATE TABLE named.moved (id int) USING delta LOCATION '{tmp_path}/one'")
    places = []
    for place in ("one", "two"):
        spark.sql("DROP TABLE named.moved")
        spark.sql(f"CREATE TABLE named.moved (id int) USING delta LOCATION '{tmp_path}/{place}'")
        found = {report.table: report for report in run_job(["named.*"], DetailOptions()).tables}
        places.append(Path(found["named.moved"].detail["location"]).name)
    spark.sql("DROP TABLE named.moved")
    assert places == ["one", "two"]


def test_other_catalog_than_sparks_own_is_asked_for_its_tables(derby, said):
    assert said("derby.APP.*")[1] == "The schema derby.APP has no Delta tables, only 1 table."
    assert said("derby.APP.PEOPL") == (
        Verdict.REFUSED,
        "There is no table derby.APP.PEOPL in the catalog. Did you mean 'PEOPLE'?",
    )
    assert said("derby.APQ.*") == (Verdict.REFUSED, "There is no schema derby.APQ in the catalog. Did you mean 'APP'?")


def test_command_line_takes_schemas_and_says_what_is_wrong_with_one(lake, capsys):
    assert main(["audit", "--schema", "named", "--exclude", "*_old"]) == 0
    said = capsys.readouterr()
    assert "named.orders" in said.out
    assert "named.orders_old" not in said.out
    assert "named: 2 Delta tables; left out: 1 parquet table, 1 view" in said.err
    assert main(["audit", "--schema", "named", "--schema", "nmed"]) == 2
    said = capsys.readouterr()
    assert "named.orders_old" in said.out
    assert "There is no schema nmed in the catalog. Did you mean 'named'? Check the name of the schema" in said.err
