"""Tables that Delta Spark cannot open, since their metadata uses features that the protocol does not list."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures, write_deltalake
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions, CheckCompatibilityOptions

_FLEET = {"engines": [{"engine": "Delta Spark", "version": "4.4.0"}]}


def test_table_that_delta_spark_cannot_open_is_reported_and_its_remedy_opens_it(tmp_path, spark, run_job):
    path = tmp_path / "t"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.timestamp("us"))])
    write_deltalake(str(path), pa.table({"id": [1], "at": [datetime(2026, 1, 1)]}, schema=schema))
    with pytest.raises((Py4JJavaError, PySparkException), match="DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"):
        spark.sql(f"SELECT * FROM delta.`{path}`").collect()

    audit = run_job([path], AuditOptions()).tables[0]
    assert [(finding.code, finding.version, finding.column) for finding in audit.findings] == [("TF22", 0, "id")]
    compatible = run_job([path], CheckCompatibilityOptions(fleet=_FLEET)).tables[0]
    assert "CP01" in [finding.code for finding in compatible.findings]

    DeltaTable(str(path)).alter.add_feature(TableFeatures.Invariants, allow_protocol_versions_increase=True)
    assert spark.sql(f"SELECT id FROM delta.`{path}`").collect() == [(1,)]
    assert run_job([path], AuditOptions()).tables[0].verdict is Verdict.PASS
    assert run_job([path], CheckCompatibilityOptions(fleet=_FLEET)).tables[0].verdict is Verdict.PASS
