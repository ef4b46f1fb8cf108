"""What the README and the docs show of reports: small tables, jobs on them, and what these print.

``scripts/sample_blocks.py`` says how a page shows them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_delta_provider.command_line.invocation import read_invocation
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.notifications.alert import Alert, Item, News, Origin, worst_first
from airflow_delta_provider.notifications.alert_document import as_text as render_alert
from demo.damage import copy_with_colliding_ids

#: Where the tables of the samples are, as the docs show them.
_LAKE = "s3a://lake"
_TABLE_ID = re.compile(r'("metaData":\s*\{"id":\s*")[0-9a-f-]{36}')
_FILE = re.compile(r"part-\d{5}-[0-9a-f-]{36}-c000")


def alert(report: JobReport) -> str:
    """Return the text of the alert about a report."""
    reports = {table.table: table for table in report.tables}
    items = worst_first(Item(t.table, finding, News.NEW) for t in report.tables for finding in t.findings)
    origin = Origin("check_row_ids", "check", "scheduled__2026-01-02T00:00:00+00:00", try_number=1)
    return render_alert(Alert(origin, verdict=report.verdict.value, items=items, reports=reports))


@dataclass(frozen=True)
class Sample:
    """A job whose report a page shows.

    :param table: name of the table
    :param arguments: further arguments of the command line, after the table
    :param shown: how the report is shown
    """

    name: str
    command: str
    table: str
    arguments: str = ""
    shown: Callable[[JobReport], str] = render_log

    @property
    def label(self) -> str:
        """The first line of the sample: what printed it, and the command that does the same."""
        source = "log of a task" if self.shown is render_log else "text of an alert"
        return " ".join(filter(None, (f"# {source}: {self.command} {_LAKE}/{self.table}", self.arguments)))

    def request(self, lake: Path) -> JobRequest:
        """Return the request that the command line makes of it."""
        words = [str(lake / self.table), *self.arguments.split(), "--no-config"]
        invocation = read_invocation(self.command, KINDS[self.command], words)
        return JobRequest(tuple(invocation.tables), invocation.options, dry_run=invocation.parsed.dry_run)


SAMPLES = (
    Sample("refused-widening", "widen-types", "flights", "--column distnce=bigint --column carrier=smallint"),
    Sample("audit", "audit", "flights_damaged"),
    Sample("row-ids", "check-row-tracking", "flights_damaged"),
    Sample("alert", "check-row-tracking", "flights_damaged", shown=alert),
    Sample("protocol-upgrade", "enable-feature", "flights", "--feature typeWidening"),
    Sample(
        "dry-run",
        "widen-types",
        "flights",
        "--column carrier=bigint --enable-type-widening --allow-protocol-upgrade --dry-run",
    ),
    Sample("drop-costs", "drop-feature", "flights", "--feature deletionVectors"),
    Sample("alter-columns", "alter-columns", "orders", "--drop note --rename qty=quantity --add tax=double --dry-run"),
    Sample("usage", "column-mapping-usage", "orders"),
    Sample("disable-mapping", "disable-column-mapping", "returns", "--dry-run"),
)


def make_lake(spark: SparkSession, lake: Path) -> None:
    """Make the tables of the samples.

    ``flights_damaged`` is a copy of ``flights`` whose log assigns row ids twice. ``orders`` and ``returns`` have
    column mapping; a column of ``orders`` was renamed.
    """
    flights = lake / "flights"
    for statement in _statements(flights, lake):
        spark.sql(statement)
    copy_with_colliding_ids(flights, lake / "flights_damaged", "MERGE")
    for table in ("flights", "flights_damaged", "orders", "returns"):
        _name_all(lake / table)


def printed(sample: Sample, lake: Path, run: Callable[[JobRequest], JobReport]) -> str:
    """Run the job of a sample; return its report as it is shown of tables in ``s3a://lake``, without times."""
    report = run(sample.request(lake))
    document = json.loads(json.dumps(report.to_json()).replace(f"file:{lake}", _LAKE).replace(str(lake), _LAKE))
    for entry in document["tables"]:
        entry["timings"] = {}
        for finding in entry["findings"]:
            finding.pop("timestamp", None)
    return f"{sample.label}\n{sample.shown(JobReport.from_json(document))}"


def _statements(flights: Path, lake: Path) -> Iterator[str]:
    table = f"delta.`{flights}`"
    yield (
        f"CREATE TABLE {table} (flight int, carrier int, delays array<struct<minutes int>>) USING delta "
        "TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
    )
    yield (
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, id % 7, array(named_struct('minutes', 5)) FROM range(1000)"
    )
    yield f"INSERT INTO {table} VALUES (1000, 1, array())"
    yield f"OPTIMIZE {table}"
    yield (
        f"MERGE INTO {table} t USING (SELECT /*+ COALESCE(1) */ id FROM range(900, 1100)) s ON t.flight = s.id "
        "WHEN MATCHED THEN UPDATE SET carrier = 8 WHEN NOT MATCHED THEN INSERT (flight, carrier) VALUES (s.id, 9)"
    )
    yield f"INSERT INTO {table} VALUES (1100, 2, array())"
    for name in ("orders", "returns"):
        table = f"delta.`{lake / name}`"
        yield f"CREATE TABLE {table} (id bigint, qty int, note string) USING delta"
        yield f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, id % 7, 'as ordered' FROM range(1000)"
        yield f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    yield f"ALTER TABLE delta.`{lake / 'orders'}` RENAME COLUMN note TO remark"
    yield f"ALTER TABLE delta.`{lake / 'orders'}` ADD COLUMN note string"


def _name_all(table: Path) -> None:
    """Give a table an id, and its data files names, that are always the same.

    Fingerprints depend on the id. Where two files break a rule together, their names decide which is reported first.
    """
    names: dict[str, str] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        text = commit.read_text(encoding="utf-8")
        for name in _FILE.findall(text):
            names.setdefault(name, f"part-00000-{len(names) + 1}f2c8d51-6b0e-4c39-9d35-7a1f0c8e2b64-c000")
        text = _TABLE_ID.sub(r"\g<1>5c1d7f7e-93a1-4c0e-8f3a-2b6d4e5f6a7b", text)
        commit.write_text(_FILE.sub(lambda found: names[found[0]], text), encoding="utf-8")
    for file in table.glob("part-*.parquet"):
        file.rename(file.with_name(_FILE.sub(lambda found: names[found[0]], file.name)))
