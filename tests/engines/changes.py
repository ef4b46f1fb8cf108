"""What one pair of Spark and Delta makes of every kind of change: run by the Python that has that Spark.

``python -m tests.engines.changes FOLDER [DELTA_JARS]`` prints one JSON document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.features.feature import FeatureAccess, FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session

#: Features that one request enables on a plain table.
ALONE = sorted(
    feature.name
    for feature in FEATURES.values()
    if feature.access is FeatureAccess.OPEN
    and feature.kind is not FeatureKind.UNKNOWN
    and feature.name != "columnMappingUsageTracking"
)
#: What Delta 3.2 enables on new tables only.
ON_NEW_TABLES = "'delta.feature.columnMapping' = 'supported', 'delta.enableRowTracking' = 'true'"


class Trial:
    """Changes of small tables in one session."""

    def __init__(self, session: SparkDeltaSession, folder: Path) -> None:
        self._session = session
        self._folder = folder

    def table(self, name: str, properties: str = "'team' = 'a'") -> str:
        """Create a table with one file, and return its path."""
        path = str(self._folder / name)
        columns = "id int, q smallint, name string"
        self._session.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta TBLPROPERTIES ({properties})")
        self._session.sql(f"INSERT INTO delta.`{path}` SELECT CAST(id AS int), CAST(id AS smallint), 'x' FROM range(5)")
        return path

    def job(self, path: str, options: Options, *, dry_run: bool = False) -> TableReport:
        """Run a job on a table."""
        (report,) = run(JobRequest((path,), options, dry_run=dry_run), self._session).tables
        return report

    def both(self, path: str, options: Options) -> dict[str, Any]:
        """Run a change, once as a dry run, and return what both say and what the log says then."""
        planned = self.job(path, options, dry_run=True)
        done = self.job(path, options)
        return {
            "planned": planned.verdict.value,
            "done": done.verdict.value,
            "codes": [finding.code for finding in done.findings],
            "messages": [finding.message for finding in done.findings],
            "changed": done.changed,
            "protocol": done.protocol_after,
            "foreseen": planned.protocol_after == done.protocol_after,
            "same": (planned.plan or {}).get("digest") == (done.plan or {}).get("digest"),
        }

    def features(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what comes of enabling each feature alone."""
        for name in ALONE:
            options = EnableFeatureOptions(features=(name,), allow_protocol_upgrade=True)
            yield name, self.both(self.table(f"feature {name}"), options)

    def changes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield what comes of one table's changes, one after the other."""
        only_new = self._session.engine.enabled_since("rowTracking")
        path = self.table("changed", *(ON_NEW_TABLES,) * bool(only_new))
        steps: tuple[tuple[str, Options], ...] = (
            ("enable", EnableFeatureOptions(features=("columnMapping", "rowTracking"), allow_protocol_upgrade=True)),
            ("alter", AlterColumnsOptions(rename={"name": "named"}, add={"at": "timestamp", "s": "struct<a:int>"})),
            ("drop column", AlterColumnsOptions(drop=("s",))),
            (
                "property alone",
                EnableFeatureOptions(
                    features=("appendOnly",),
                    properties={"delta.enableTypeWidening": "true"},
                    allow_protocol_upgrade=True,
                ),
            ),
            (
                "widen",
                WidenTypesOptions(columns={"q": "bigint"}, enable_type_widening=True, allow_protocol_upgrade=True),
            ),
            (
                "drop feature",
                DropFeatureOptions(features=("typeWidening",), allow_rewrite=True, allow_protocol_upgrade=True),
            ),
            ("leave mapping", DisableColumnMappingOptions(strategy="rewrite", allow_rewrite=True)),
        )
        for name, options in steps:
            yield name, self.both(path, options)
        for name, check in (("audit", AuditOptions(level="data")), ("row ids", CheckRowTrackingOptions(level="data"))):
            report = self.job(path, check)
            codes = [finding.code for finding in report.findings]
            yield name, {"done": report.verdict.value, "codes": codes}


def main(folder: str, delta_jars: str | None = None) -> None:
    """Try everything and print what came of it."""
    session = SparkDeltaSession(own_session("engines", "local[2]", delta_jars))
    trial = Trial(session, Path(folder))
    document = {
        "engine": str(session.engine),
        "knows": sorted(session.engine.features),
        "features": dict(trial.features()),
        "changes": dict(trial.changes()),
    }
    session.spark.stop()
    print(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
