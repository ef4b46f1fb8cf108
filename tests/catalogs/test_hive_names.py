"""Every kind of job on tables by their names in Hive's metastore, and what these names and places may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.domain.request.options import DetailOptions, Options
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from tests.catalogs.test_hive_metastore import settings
from tests.every_kind import REQUESTS

pytestmark = pytest.mark.soak

#: What the requests are about, where it is not the table ``shop.orders``.
TABLES = dict.fromkeys(("column-mapping-usage", "disable-column-mapping", "alter-columns"), "shop.mapped")
#: Kinds that take no name of this catalog's.
ELSEWHERE = {"create-table", "check-paimon-row-tracking"}
BY_NAME = [kind for kind in REQUESTS if KINDS[kind].operator and kind not in ELSEWHERE]
#: Folders whose names are written in another way in a URI.
FOLDERS = ["a b", "a%20b", "a+b", "a%2Bb", "a%", "ä", "a#b", "a?b", "a'b", "a=b,c", "a%25b"]
#: Tables of a schema, of which others are a part.
MANY = 1_000
#: Requests of the metastore that do not depend on how many tables there are.
FEW = 20

Job = Callable[[Options, str], TableReport]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDeltaSession]:
    """Return a session whose catalog is a metastore of its own."""
    folder = tmp_path_factory.mktemp("hive")
    conf = tmp_path_factory.mktemp("conf")
    (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings(folder).items()))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_CONF_DIR", str(conf))
        spark = own_session("tests", "local[2]")
    spark.sql("CREATE SCHEMA shop")
    yield SparkDeltaSession(spark)
    spark.stop()


@pytest.fixture(scope="module")
def job(session: SparkDeltaSession) -> Job:
    """Run a job on one name."""

    def job_of(options: Options, table: str) -> TableReport:
        (report,) = run(JobRequest((table,), options), session).tables
        return report

    return job_of


@pytest.fixture(scope="module")
def shop(session: SparkDeltaSession) -> None:
    """Make the tables that the requests are about."""
    made = "(id int, quantity int) USING delta TBLPROPERTIES"
    features = "'delta.enableRowTracking' = 'true', 'delta.feature.checkConstraints' = 'supported'"
    for table in ("orders", "mapped"):
        session.sql(f"CREATE TABLE shop.{table} {made} ({features})")
        session.sql(f"INSERT INTO shop.{table} VALUES (1, 1)")
    session.sql("ALTER TABLE shop.mapped SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")


@pytest.mark.parametrize("kind", BY_NAME)
def test_every_kind_of_job_passes_by_name(shop: None, job: Job, kind: str) -> None:
    report = job(REQUESTS[kind], TABLES.get(kind, "shop.orders"))
    assert (report.verdict, report.findings) == (Verdict.PASS, ())


def test_a_new_table_is_not_made_by_name(job: Job) -> None:
    assert job(REQUESTS["create-table"], "shop.new").verdict is Verdict.REFUSED


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("managed", [False, True], ids=["external", "managed"])
def test_table_is_found_whatever_its_folder_is_called(
    session: SparkDeltaSession, job: Job, tmp_path: Path, folder: str, managed: bool
) -> None:
    name = f"placed_{FOLDERS.index(folder)}_{managed:d}".lower()
    place = tmp_path / folder
    quoted = str(place).replace("'", "\\'")
    if managed:
        session.sql(f"CREATE SCHEMA {name} LOCATION '{quoted}'")
        table, log = f"{name}.t", place / "t" / "_delta_log"
        session.sql(f"CREATE TABLE {table} (id int) USING delta")
    else:
        table, log = f"shop.{name}", place / "_delta_log"
        session.sql(f"CREATE TABLE {table} (id int) USING delta LOCATION '{quoted}'")
    session.sql(f"INSERT INTO {table} VALUES (1)")
    assert sorted(path.name for path in log.glob("*.json")) == [f"{version:020}.json" for version in range(2)]
    report = job(AuditOptions(level="data"), table)
    assert (report.verdict, report.findings, report.version) == (Verdict.PASS, (), 1)


@pytest.mark.parametrize(
    "name", ["SHOP.ORDERS", "`shop`.`orders`", "Spark_Catalog.shop.orders", "`spark_catalog`.`SHOP`.`Orders`"]
)
def test_table_is_found_by_each_spelling_of_its_name(shop: None, job: Job, name: str) -> None:
    assert job(DetailOptions(), name).verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["shop.`or.ders`", "shop.`or``ders`", "shop.`örders`", "shop.`or ders`", "`sh.op`.t"])
def test_name_that_the_metastore_cannot_have_is_refused(shop: None, job: Job, name: str) -> None:
    report = job(DetailOptions(), name)
    assert (report.verdict, [finding.code for finding in report.findings]) == (Verdict.REFUSED, ["RQ01"])


def test_a_schema_of_a_thousand_tables_is_listed_at_once_and_what_is_no_delta_table_is_left_out(
    session: SparkDeltaSession, tmp_path: Path
) -> None:
    session.sql("CREATE SCHEMA many")
    session.sql(f"CREATE TABLE many.t0 (id int) USING delta LOCATION '{tmp_path}/t'")
    session.sql("CREATE TABLE many.raw (id int) USING parquet")
    session.sql("CREATE TABLE many.old (id int) STORED AS TEXTFILE")
    session.sql("CREATE VIEW many.recent AS SELECT * FROM many.t0")
    for number in range(1, MANY):
        session.sql(f"CREATE TABLE many.t{number} USING delta LOCATION '{tmp_path}/t'")
    asked = session.spark._jvm.org.apache.spark.metrics.source.HiveCatalogMetrics.METRIC_HIVE_CLIENT_CALLS()
    before, said = asked.getCount(), list[str]()
    report = run(JobRequest(("many.*",), DetailOptions()), session, said.append)
    assert asked.getCount() - before < FEW
    assert {table.verdict for table in report.tables} == {Verdict.PASS}
    assert sorted(table.table for table in report.tables) == sorted(f"many.t{number}" for number in range(MANY))
    assert [line for line in said if "left out" in line] == [
        f"many: {MANY:,} Delta tables; left out: 1 hive table, 1 parquet table, 1 view"
    ]
