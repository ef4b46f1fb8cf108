"""Change data that a commit lacks, by what it does; and statistics that older files may lack."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.report.verdict import Severity
from tests.unit.damages.histories import KEY, V, fed
from tests.unit.log_builder import Table, audited


def found(table: Table) -> list[tuple[str, Severity, int | None]]:
    return [(finding.code, finding.severity, finding.version) for finding in audited(table.commits)]


def rewritten(operation: str) -> Table:
    """A file rewritten without change data, while others stay."""
    table = fed().append(2)
    (key,) = table._keys(table.paths[-1:])
    table.commit(operation, *table._written([10]), table._removed(key))
    return table


@pytest.mark.parametrize("operation", ["UPDATE", "MERGE", "DELETE"])
def test_operation_that_changes_rows_needs_change_data(operation: str):
    table = rewritten(operation)
    assert found(table) == [("AC26", Severity.ERROR, table.version)]


@pytest.mark.parametrize("operation", ["RESTORE", "OPTIMIZE", "WRITE", "UPSERT"])
def test_rows_that_another_operation_may_have_changed_are_undecided(operation: str):
    table = rewritten(operation)
    assert found(table) == [("AC26", Severity.UNDECIDED, table.version)]


def test_rows_that_are_replaced_removed_or_brought_back_need_no_change_data():
    table = fed().append(3)
    version = table.version
    table.delete(table.paths[-1]).append()
    assert found(table.restore(version).overwrite().optimize()) == []


def test_older_files_may_lack_statistics_of_a_clustering_column():
    features = ["clustering", "deletionVectors"]
    table = Table(KEY, V, features=features, properties={"delta.enableDeletionVectors": "true"})
    written = table._written([10, 10])
    for action in written:
        action["add"]["stats"] = '{"numRecords":10}'
    table.commit("WRITE", *written)
    configuration = json.dumps({"clusteringColumns": [["id"]]})
    domain = {"domain": "delta.clustering", "configuration": configuration, "removed": False}
    table.commit("CLUSTER BY", {"domainMetadata": domain})
    version = table.version
    table.mark_deleted(table.paths[0]).delete(table.paths[-1]).append().restore(version)
    assert found(table) == []
    table.commit("WRITE", *({"add": {**action["add"], "path": "new"}} for action in written[:1]))
    assert found(table) == [("MD32", Severity.ERROR, table.version)]
