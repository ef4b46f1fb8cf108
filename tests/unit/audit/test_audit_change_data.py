"""Change data that a commit lacks, by what it does; and statistics that older files may lack."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.report.report import Severity
from tests.unit.audits_in_parts import Kept, audited_in_parts, told
from tests.unit.damages.histories import KEY, V, fed
from tests.unit.log_builder import Actions, Table, audited
from tests.unit.states import field

P = field("p", "integer")


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


def in_partitions(table: Table, *values: str | None) -> Actions:
    """New files, one in each of these partitions."""
    written = table._written([10] * len(values))
    for action, value in zip(written, values, strict=True):
        action["add"]["partitionValues"] = {"p": value}
    return written


def overwritten(table: Table, number: int, *values: str | None) -> Table:
    """Remove the first files, and add one to each of these partitions, as no operation does that changes rows."""
    removed = [table._removed(key) for key in table._keys(table.paths[:number])]
    table.commit("WRITE", *in_partitions(table, *values), *removed, mode="Overwrite")
    return table


def partitioned_feed() -> Table:
    """Three files in two partitions, and two in a third."""
    properties = {"delta.enableChangeDataFeed": "true"}
    table = Table(KEY, V, P, features=["changeDataFeed"], properties=properties, partition_by=["p"])
    table.commit("WRITE", *in_partitions(table, "1", "1", "1", "2", None))
    table.commit("WRITE", *in_partitions(table, ""))
    return table


@pytest.mark.parametrize(("removed", "values"), [(3, ["1"]), (4, ["1", "2"]), (4, ["3"]), (3, ["1", "1", "2"])])
def test_partitions_that_are_replaced_need_no_change_data(removed, values):
    assert found(overwritten(partitioned_feed(), removed, *values)) == []


@pytest.mark.parametrize(("removed", "values"), [(1, ["1"]), (2, ["1", "1", "2"]), (5, ["1", "2", None]), (1, ["3"])])
def test_rows_of_a_part_of_a_partition_may_have_been_changed(removed, values):
    table = overwritten(partitioned_feed(), removed, *values)
    assert found(table) == [("AC26", Severity.UNDECIDED, table.version)]


def test_partitions_are_followed_over_many_commits():
    table = partitioned_feed()
    for value in ("2", "1", "2"):
        removed = [table._removed(key) for key in in_partition(table, value)]
        table.commit("WRITE", *in_partitions(table, value, value), *removed, mode="Overwrite")
    assert found(table) == []
    removed = [table._removed(key) for key in in_partition(table, "2")[:1]]
    table.commit("WRITE", *in_partitions(table, "2"), *removed, mode="Overwrite")
    assert found(table) == [("AC26", Severity.UNDECIDED, table.version)]


def in_partition(table: Table, value: str) -> list[tuple[str, str]]:
    return [key for key, add in table.now.files.items() if add["partitionValues"]["p"] == value]


@pytest.mark.parametrize("first", [None, 1, 2])
def test_partitions_of_files_from_before_are_read_from_the_log(first):
    for number, codes in ((1, ["AC26"]), (3, [])):
        table = overwritten(partitioned_feed(), number, "1")
        storage = Kept(table.commits) if first is None else Kept(table.commits).clean_up(table, first)
        assert [f.code for f in told(storage)[0] if f.code != "LG01"] == codes
        assert [f.code for f in audited_in_parts(table.commits, 1, 2)] == codes


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
    assert set(found(table)) == {("MD34", Severity.WARNING, 2)}
    table.commit("WRITE", *({"add": {**action["add"], "path": "new"}} for action in written[:1]))
    assert found(table)[0] == ("MD32", Severity.ERROR, table.version)
