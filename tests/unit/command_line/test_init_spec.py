"""The command ``init-spec``: the file that it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.migrations.planner import plan_migration
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import TableName
from tests.unit.command_line.tables import sound, write
from tests.unit.damages.histories import plain
from tests.unit.log_builder import Table
from tests.unit.spec.spec_texts import parse_file


@pytest.fixture(autouse=True)
def lake(tmp_path, monkeypatch) -> Path:
    """A folder of its own to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_file_of_a_table_declares_it_as_it_is(lake, capsys):
    sound(lake / "t")
    assert main(["init-spec", "t", "--output", "t.yaml", "--format", "json"]) == 0
    (report,) = JobReport.from_json(json.loads(capsys.readouterr().out)).tables
    text = lake.joinpath("t.yaml").read_text(encoding="utf-8")
    (spec,) = parse_file(text, "t.yaml")
    assert text.startswith("# The declared state of the table. Edit it, then:")
    assert TableSpec.from_json(report.spec) == spec
    assert spec.table == report.table == "./t"
    replay = Replay(with_files=False)
    for actions in plain().append().append().commits:
        replay.take(actions)
    planned = plan_migration(TableName.parse("t"), spec, replay.state(report.version or 0))
    assert planned.refusals == ()
    assert planned.plan is not None
    assert planned.plan.steps == ()


def test_standard_output_is_a_spec_file(lake, capsys):
    sound(lake / "t")
    assert main(["init-spec", "t", "./none"]) == 3
    printed = capsys.readouterr()
    (spec,) = parse_file(printed.out, "t.yaml")
    assert spec.table == "./t"
    assert "RQ01" in printed.err
    assert main(["init-spec", "t", "--output", "t.yaml"]) == 0
    assert lake.joinpath("t.yaml").read_text(encoding="utf-8") == printed.out
    assert capsys.readouterr().err == "1 spec written.\n"


@pytest.mark.parametrize("name", ["lake.yaml", "lake.json"])
def test_several_tables_are_in_one_file(lake, capsys, name):
    for table in ("a", "b"):
        sound(lake / "lake" / table)
    lake.joinpath("lake", "c").mkdir()
    assert main(["init-spec", "lake/*", "--output", name, "-v"]) == 0
    assert "2 specs written." in capsys.readouterr().err
    specs = parse_file(lake.joinpath(name).read_text(encoding="utf-8"), name)
    assert [(spec.table or "")[-6:] for spec in specs] == ["lake/a", "lake/b"]


def test_file_is_overwritten_only_if_asked(lake, capsys):
    sound(lake / "t")
    lake.joinpath("t.yaml").write_text("mine", encoding="utf-8")
    assert main(["init-spec", "t", "--output", "t.yaml"]) == 2
    assert "--output: t.yaml exists. Give --force to overwrite it." in capsys.readouterr().err
    assert lake.joinpath("t.yaml").read_text(encoding="utf-8") == "mine"
    assert main(["init-spec", "t", "--output", "t.yaml", "--force"]) == 0
    assert parse_file(lake.joinpath("t.yaml").read_text(encoding="utf-8"), "t.yaml")


@pytest.mark.parametrize(
    ("place", "message"),
    [("t.txt", "ends with .yaml, .yml or .json"), ("nowhere/t.yaml", "there is no directory nowhere")],
)
def test_place_that_cannot_be_written_is_refused_first(lake, capsys, place, message):
    sound(lake / "t")
    assert main(["init-spec", "t", "--output", place]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [(str.upper, "columns[2]: the column 'ID' is there twice"), (lambda _: "", "columns[2].name: is empty")],
)
def test_table_that_cannot_be_declared_has_no_spec(lake, capsys, name, message):
    commits = [list(map(dict, actions)) for actions in plain().commits]
    for action in commits[0]:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"].append({**schema["fields"][0], "name": name(schema["fields"][0]["name"])})
            action["metaData"] = {**action["metaData"], "schemaString": json.dumps(schema)}
    write(lake / "t", Table.of(commits))
    assert main(["init-spec", "t", "--output", "t.yaml"]) != 0
    printed = capsys.readouterr()
    said = " ".join(printed.err.split())
    assert printed.out == ""
    assert "RQ66" in said
    assert "(positions count from 0): " + message in said
    assert "damaged" not in said
    assert not lake.joinpath("t.yaml").exists()
