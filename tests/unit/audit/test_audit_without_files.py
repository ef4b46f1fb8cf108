"""What engines may do to tables without files, and when they may forget changes of types."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import PastLog
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.damages import histories
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import CHANGES, Table, audited
from tests.unit.mapped_tables import fields_of
from tests.unit.states import field

WIDE = {"type": "struct", "fields": [{"name": "id", "type": "string", "nullable": True, "metadata": {}}]}


def forget_types(table: Table) -> Table:
    schema = table.schema
    for wire in fields_of(schema):
        wire["metadata"].pop(CHANGES, None)
    table.commit("UPGRADE SCHEMA", table._changed(schema))
    return table


def test_schema_of_a_table_without_files_may_be_overwritten():
    assert audited(histories.widening_empty().overwrite(WIDE).append().commits) == []


def test_table_without_files_may_be_replaced():
    table = histories.mapped_empty().replace(KEY, field("v", "string")).append()
    (found,) = audited(table.commits)
    assert (found.code, found.severity) == ("MD08", Severity.WARNING)
    assert found.message.startswith("The commit replaced the table, which had no files, and changed its id from ")


def test_id_of_a_table_without_files_may_not_change():
    table = histories.widening_empty()
    table.commit("SET TBLPROPERTIES", {"metaData": table.now.metadata | {"id": "another"}})
    (found,) = audited(table.commits)
    assert (found.code, found.severity) == ("MD08", Severity.ERROR)
    assert "which had no files." in found.message


def test_mapping_of_a_table_without_files_may_be_removed():
    assert audited(histories.mapped_empty().remove_mapping().append().commits) == []


def test_mapping_may_be_enabled_on_a_table_without_files():
    assert audited(histories.plain().delete_all().enable_mapping().append().commits) == []


def test_types_may_be_forgotten_when_all_files_have_them():
    table = histories.widening()
    table.commit("REORG", *table._moved())
    assert audited(forget_types(table).append().commits) == []


def test_types_may_be_forgotten_by_files_that_are_older_than_the_column():
    table = histories.plain().support("typeWidening", delta__enableTypeWidening="true").add_column(field("n", "short"))
    table.append().widen("n", "integer")
    table.delete(table.paths[-1])
    assert audited(forget_types(table).append().commits) == []


def without_statistics(table: Table) -> None:
    for actions in table.commits:
        for action in actions:
            action.get("add", {}).pop("stats", None)


@pytest.mark.parametrize("known", [True, False])
def test_types_of_older_files_that_the_log_does_not_show_are_undecided(known: bool):
    table = forget_types(histories.widening())
    if known:
        without_statistics(table)
        found = audited(table.commits)
    else:
        audit = HistoryAudit(Replay(with_files=True), log=PastLog())
        for version, actions in enumerate(table.commits):
            audit.take(version, json.loads(json.dumps(actions)))
        found = audit.findings()
    (lost,) = (finding for finding in found if finding.code.startswith("TW"))
    assert (lost.code, lost.version, lost.severity) == ("TW12", table.version, Severity.UNDECIDED)
    assert "level 'footers'" in lost.message


@pytest.mark.parametrize("place", ["s3://lake/origin/", ""], ids=["shallow", "deep"])
def test_types_of_files_that_a_clone_took_over_are_undecided(place: str):
    origin = histories.widening().now
    adds = [{"add": {**add, "path": place + path}} for (path, _), add in origin.files.items()]
    info = {"commitInfo": {"operation": "CLONE"}}
    clone = Table.of([[info, {"metaData": origin.metadata}, {"protocol": origin.protocol}, *adds]])
    (lost,) = (finding for finding in audited(forget_types(clone).append().commits) if finding.code == "TW12")
    assert (lost.version, lost.severity) == (1, Severity.UNDECIDED)
