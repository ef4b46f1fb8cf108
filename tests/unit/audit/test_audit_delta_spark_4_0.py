"""Histories that Delta Spark 4.0.0 wrote: audits have nothing to say of them, but for what it does wrong."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.report.report import Severity
from tests.tables.delta_spark_4_0 import logs
from tests.unit.audits_in_parts import Kept, told

LOGS = logs()
#: What it really does: REPLACE gives another id, some statements write the same metadata once more, and clustering
#: keeps the names that went with the mapping.
KNOWN = {
    "clustered and mapped/t": {"CM17"},
    "generated and identity columns/t": {"MD12"},
    "replace/t": {"MD08"},
    "row tracking, on and off/t": {"MD12"},
    "types widened, overwritten and restored/t": {"MD08"},
}


@pytest.mark.parametrize("name", LOGS)
def test_nothing_is_wrong_with_what_delta_spark_4_0_wrote(name):
    storage = Kept([])
    storage.files = dict(LOGS[name])
    found, _, run = told(storage)
    assert run.commits == len([file for file in LOGS[name] if file.endswith(".json")])
    assert {finding.code for finding in found} == KNOWN.get(name, set())
    assert {finding.severity for finding in found} <= {Severity.WARNING}
