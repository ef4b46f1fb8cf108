"""The commands that hold tables against specs: what they say of tables, files and plans. Real logs, without Spark."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.exit_code import UsageError
from airflow_delta_provider.command_line.invocation import read_invocation
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.parser import table_parser
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.domain.request.migration_options import PlanMigrationOptions, Specs
from tests.unit.command_line.tables import sound


@pytest.fixture(autouse=True)
def lake(tmp_path, monkeypatch) -> Path:
    """A folder of its own to be in, with a table: ``id`` bigint, ``part`` string."""
    monkeypatch.chdir(tmp_path)
    sound(tmp_path / "t")
    return tmp_path


def plan(capsys: pytest.CaptureFixture[str], text: str, *arguments: str) -> str:
    """Return what planning by a spec file says, on one line."""
    Path("spec.yaml").write_text(text, encoding="utf-8")
    with contextlib.suppress(SystemExit):  # argparse ends so where the file is wrong
        main(["plan-migration", *arguments, "--spec", "spec.yaml"])
    said = capsys.readouterr()
    return " ".join(f"{said.out} {said.err}".split())


def test_default_that_is_a_text_without_quotes_is_found_with_its_place(capsys):
    said = plan(capsys, "table: ./t\ncolumns:\n- {name: id, default: hello}")
    assert "spec.yaml, line 3, column 23: columns[0].default: names hello" in said
    assert "for the text itself write \"'hello'\"" in said


def test_constraint_that_names_no_column_is_found_with_its_place(capsys):
    said = plan(capsys, "table: ./t\nconstraints:\n  a: id > 0\n  b: nope > 0")
    assert "The CHECK constraint b (nope > 0; spec.yaml, line 4, column 6) names nope, but there is no such" in said


def test_missing_table_that_another_is_to_be_like_is_named_with_its_place(lake, capsys):
    said = plan(capsys, "table: ./t\nlike: ./gone")
    assert f"The spec (spec.yaml, line 2, column 7) has like: ./gone. There is no table at {lake}/gone" in said


def test_damaged_log_is_that_of_the_table_that_another_is_to_be_like(lake, capsys):
    (lake / "broken" / "_delta_log").mkdir(parents=True)
    (lake / "broken" / "_delta_log" / f"{0:020d}.json").write_text("{", encoding="utf-8")
    said = plan(capsys, "table: ./t\nlike: ./broken")
    assert "(spec.yaml, line 2, column 7) has like: ./broken. The log of ./broken is damaged" in said


def test_spec_without_a_table_is_named_where_one_is_needed():
    Path("spec.yaml").write_text("columns: [{name: id}]", encoding="utf-8")
    with pytest.raises(UsageError, match=r"spec\.yaml names no table\. Add its table \(table: …\), or give TABLE"):
        read_invocation("plan-migration", KINDS["plan-migration"], ["--spec", "spec.yaml"])


def test_tables_of_specs_and_plans_need_not_be_named(lake):
    usage = table_parser("apply-migration", KINDS["apply-migration"]).format_usage()
    assert usage == "usage: delta-provider apply-migration [TABLE ...] [OPTIONS]\n"
    assert "TABLE [TABLE ...]" in table_parser("widen-types", KINDS["widen-types"]).format_usage()
    lake.joinpath("spec.yaml").write_text(f"table: {lake}/t\ncomment: x", encoding="utf-8")
    assert main(["plan-migration", "--spec", "spec.yaml", "--format", "json", "--output", "plan.json"]) == 0
    assert read_invocation("apply-migration", KINDS["apply-migration"], ["--plan", "plan.json"]).tables == [f"{lake}/t"]
    with pytest.raises(UsageError, match="name the table to change"):
        read_invocation("widen-types", KINDS["widen-types"], ["--column", "id=bigint"])


def test_request_keeps_where_its_specs_were_written():
    specs = Specs().of_files([("a.yaml", "table: /a\nlike: /b"), ("c.yaml", "table: /c\nconstraints: {x: 'true'}")])
    options = PlanMigrationOptions(spec=specs)
    again = PlanMigrationOptions.from_json(json.loads(json.dumps(options.to_json())))
    assert again == options
    assert [again.spec_of(spec.table).places for spec in specs] == [spec.places for spec in specs]
    assert specs[1].places == {"": "c.yaml", "constraints.x": "c.yaml, line 2, column 18"}
    assert "places" not in specs[0].to_json()


def test_report_of_a_plan_says_whether_it_needs_approval_and_why(lake, capsys):
    spec = "table: ./t\ncolumns: [{name: note, type: string}]"
    assert "needs approval: There is no policy file, and only a policy file allows" in plan(capsys, spec)
    policy = "tables: [{table: '*', approve_without_asking: [%s]}]"
    lake.joinpath("policy.yaml").write_text(policy % "additive", encoding="utf-8")
    assert "needs no approval" in plan(capsys, spec, "--policy", "policy.yaml")
    lake.joinpath("other.yaml").write_text(policy.replace("'*'", "other") % "additive", encoding="utf-8")
    said = plan(capsys, spec, "--policy", "other.yaml")
    assert "needs approval: The policy allows no plan for this table without approval." in said
    markdown = plan(capsys, spec, "--format", "markdown")
    assert "**Needs approval:** There is no policy file" in markdown
    lake.joinpath("policy.yaml").write_text(policy % "no_warnings", encoding="utf-8")
    warned = "table: ./t\ncolumns: [{name: select, type: string}]"
    assert "needs approval: There are warnings." in plan(capsys, warned, "--policy", "policy.yaml")
    assert "approval" not in plan(capsys, "table: ./t")


def test_configuration_names_policy_and_fleet(lake, capsys, monkeypatch):
    lake.joinpath("delta-provider.toml").write_text('policy = "policy.yaml"\nfleet = "fleet.yaml"\n', encoding="utf-8")
    lake.joinpath("policy.yaml").write_text("tables: [{table: '*', approve_without_asking: [no_errors]}]")
    lake.joinpath("fleet.yaml").write_text("engines: [{engine: Trino, version: '470', writes: true}]", encoding="utf-8")
    lake.joinpath("below").mkdir()
    monkeypatch.chdir(lake / "below")
    said = plan(capsys, f"table: {lake}/t\nfeatures: [rowTracking]")
    assert "Trino 470" in said
    assert "needs approval: 1 finding is an error." in said
    assert "needs no approval" in plan(capsys, f"table: {lake}/t\ncolumns: [{{name: note, type: string}}]")
    lake.joinpath("other.yaml").write_text("engines: []", encoding="utf-8")
    assert "Trino" not in plan(capsys, f"table: {lake}/t\nfeatures: [rowTracking]", "--fleet", "../other.yaml")
    lake.joinpath("policy.yaml").write_text("tabels: []", encoding="utf-8")
    with pytest.raises(UsageError, match=r"delta-provider\.toml: policy: the policy has the unknown key 'tabels'"):
        read_invocation("plan-migration", KINDS["plan-migration"], ["--spec", "spec.yaml"])
    lake.joinpath("policy.yaml").unlink()
    with pytest.raises(UsageError, match=r"delta-provider\.toml: policy: .*policy\.yaml cannot be read: No such file"):
        read_invocation("plan-migration", KINDS["plan-migration"], ["--spec", "spec.yaml"])
