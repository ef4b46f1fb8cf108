"""The remedies of an audit's findings: what can be followed on the table that was looked at."""

from __future__ import annotations

import json
import time

import pytest

from airflow_delta_provider.domain.checks.data_files.files import missing_file
from airflow_delta_provider.domain.checks.log.checkpoints import CheckpointForm
from airflow_delta_provider.domain.checks.log.checksums import check_pointer
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Place, Restore
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.delta.snapshot import batches_of
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.audit.test_audit_history import damaged
from tests.unit.damages import FIRST
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

DAY = 86_400_000
RESTORES = [rule for rule in RULES.values() if isinstance(rule.remedy, Restore)]


def remedies(table, path):
    disk = OnDisk(path / "t", table)
    options = AuditOptions()
    report = run(JobRequest((str(disk.log.parent),), options), python_session(), lambda _: None).tables[0]
    return {(found.code, found.version): found.remedy or RULES[found.code].remedy for found in report.findings}


def dated(table, *, days):
    """Let the commits of a table be so old, a second apart."""
    begin = int(time.time() * 1000) - days * DAY
    for version, actions in enumerate(table.commits):
        info = next(action["commitInfo"] for action in actions if "commitInfo" in action)
        info["timestamp"] = begin + version * 1000
    return table


@pytest.fixture(scope="module")
def wrong():
    """A table whose schema has been wrong since a version, and rows that were written since."""
    return FIRST["AC03"]


def test_restore_names_the_version_and_the_rows_that_it_takes_away(wrong, tmp_path):
    table, version = damaged(wrong, lambda table: table.append().append())
    said = remedies(dated(table, days=1), tmp_path)["AC03", version]
    assert f"RESTORE the table to version {version - 1}" in said
    assert f"removes all rows that versions {version} to {table.version} wrote" in said
    assert "Delta Spark refuses" not in said
    assert said.endswith(f"Command: RESTORE TABLE delta.`file:{tmp_path}/t` TO VERSION AS OF {version - 1}")


def test_restore_of_a_table_on_s3_is_a_command_that_spark_reads():
    place = Place(3, False, 0, 3, table="delta.`s3://lake/t`")
    assert Restore().at(place).endswith("Command: RESTORE TABLE delta.`s3a://lake/t` TO VERSION AS OF 2")


def test_restore_to_a_version_that_is_too_old_says_which_property_to_set_first(wrong, tmp_path):
    table, version = damaged(wrong)
    said = remedies(dated(table, days=8), tmp_path)["AC03", version]
    assert "older than delta.deletedFileRetentionDuration (interval 1 week): set that property higher first" in said


def test_property_of_the_table_decides_what_is_too_old(tmp_path):
    kept = {"delta.deletedFileRetentionDuration": "interval 30 days", "delta.columnMapping.mode": "nonsense"}
    table = Table(field("id", "long")).append().set_properties(**{k.replace(".", "__"): v for k, v in kept.items()})
    said = remedies(dated(table.append(), days=8), tmp_path)
    assert said
    assert not any("Delta Spark refuses" in text for text in said.values())


@pytest.mark.parametrize("rule", RESTORES, ids=lambda rule: rule.code)
def test_nothing_older_is_named_if_there_is_nothing_older(rule):
    first = rule.remedy.at(Place(0, at_or_before=False, oldest=0, newest=4))
    assert "Version 0 has no version before it." in first
    cleaned = rule.remedy.at(Place(7, at_or_before=True, oldest=7, newest=9))
    assert "leads to no version before 7" in cleaned
    for said in (first, cleaned):
        assert "RESTORE the table" not in said
        assert said.endswith(".")
    later = rule.remedy.at(Place(7, at_or_before=False, oldest=0, newest=7))
    assert "RESTORE the table to version 6" in later
    assert "removes the rows that version 7 wrote" in later


def test_a_remedy_without_loss_comes_first():
    said = Restore(instead="set the property again").at(Place(3, at_or_before=False, oldest=0, newest=3))
    assert said.startswith("Set the property again. Or RESTORE the table to version 2.")
    assert str(Restore(instead="set the property again")).startswith("Set the property again, or RESTORE the table")


@pytest.mark.parametrize("code", ["AC15", "RT14"])
def test_restore_is_not_advised_for_a_file_that_is_live_in_both_versions(code):
    assert not isinstance(RULES[code].remedy, Restore)
    assert "RESTORE leaves alone a file that is live in both versions" in RULES[code].remedy


def test_missing_file_of_a_shallow_clone_is_brought_back_to_its_source():
    said = missing_file("file:/lake/source/part-0.parquet").message
    assert "RESTORE" not in said
    assert "SHALLOW CLONE" in said
    assert "RESTORE" in missing_file("part-0.parquet").message


@pytest.mark.parametrize(("size", "is_witness"), [(12, True), (1, False)])
def test_hint_that_counts_more_than_its_checkpoint_is_kept_as_a_witness(size, is_witness):
    form = CheckpointForm(9, ["c"])
    for batch in batches_of([{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": {"id": "i"}}]):
        form.take(batch)
    hint = json.dumps({"version": 9, "size": size}).encode()
    (found,) = check_pointer(hint, {9: [LogSegment(9, 9, ("c",), (), None)]}, [form])
    assert ("Keep _last_checkpoint" in found.message) is is_witness
    assert "Delete" not in found.message


def test_a_log_whose_commits_are_gone_is_not_looked_for_elsewhere(tmp_path):
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    report = run(JobRequest((str(tmp_path / "t"),), AuditOptions()), python_session(), lambda _: None).tables[0]
    (found,) = report.findings
    assert (found.code, "own directory" in found.message) == ("RQ02", False)
    assert "Restore the log from a backup" in found.message
    (tmp_path / "u").mkdir()
    report = run(JobRequest((str(tmp_path / "u"),), AuditOptions()), python_session(), lambda _: None).tables[0]
    assert "Name the table's own directory" in report.findings[0].message


def test_the_last_trace_of_an_overwritten_commit_is_not_to_be_deleted():
    assert "do not delete it" in RULES["LG08"].remedy
