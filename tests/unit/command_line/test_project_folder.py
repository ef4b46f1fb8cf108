"""A table has one name, and all that rests on it is the same, in whichever folder of a project a command runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.command_line.invocation import ProjectFolder
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.rendering.links import SourceTree
from airflow_delta_provider.domain.rendering.presentation import FORMATS
from tests.unit.command_line.tables import damaged, sound

ERROR, WARNING = "AC08", "AC27"
CONFIG = """
tables = ["./lake/**", { table = "lake/bad", owner = "sales" }]
exclude = ["lake/tmp/**"]
state_path = "audits"

[[waivers]]
code = "AC27"
table = "./lake/old*"
owner = "me"
reason = "known"
expires = 2999-01-01
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """A project in a repository, whose tables are in a folder of their own."""
    repository = tmp_path / "repository"
    project = repository / "project"
    damaged(project / "lake" / "bad", ERROR)
    damaged(project / "lake" / "old_one", WARNING)
    damaged(project / "lake" / "tmp" / "t", ERROR)
    sound(project / "lake" / "good")
    (repository / ".git").mkdir()
    (project / "delta-provider.toml").write_text(CONFIG, encoding="utf-8")
    return project


@pytest.fixture(params=["", "lake", "lake/bad", "lake/bad/_delta_log", ".."])
def folder(request, project, monkeypatch) -> list[str]:
    """Run in a folder of the project; arguments that name its configuration where it is not found."""
    monkeypatch.chdir(project / request.param)
    return ["--config", "project/delta-provider.toml"] if request.param == ".." else []


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    """Return a result, without the times in it."""
    return re.sub(
        r"\d[\d.:]* m?s\b|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?|(?<=time=\")[\d.]+", "TIME", capsys.readouterr().out
    )


def wire(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "json"])
def test_every_format_says_the_same_in_every_folder(form, folder, project, capsys, monkeypatch):
    words = ["audit", "--format", form, "--exit-zero", "-q"]
    assert main([*words, *folder]) == 0
    here = shown(capsys)
    shutil.rmtree(project / "audits")
    monkeypatch.chdir(project)
    assert main(words) == 0
    assert shown(capsys) == here
    assert "lake/bad" in here


def test_names_owners_waivers_and_state_are_those_of_the_configuration(folder, project, capsys):
    assert main(["audit", "--format", "json", *folder]) == 1
    tables = {table["table"]: table for table in wire(capsys)["tables"]}
    assert list(tables) == ["lake/bad", "lake/good", "lake/old_one"]
    assert tables["lake/bad"]["evidence"]["owner"] == "sales"
    assert [finding["waiver"]["owner"] for finding in tables["lake/old_one"]["findings"]] == ["me"]
    assert len(list((project / "audits").iterdir())) == 3
    main(["audit", "--format", "json", *folder])
    assert {f["status"] for f in wire(capsys)["tables"][0]["findings"]} == {"KNOWN"}


def test_tables_that_are_typed_have_the_same_names(project, capsys, monkeypatch):
    monkeypatch.chdir(project / "lake")
    Path("list").write_text("bad\n../lake/good/\n", encoding="utf-8")
    assert main(["audit", "@list", "old*", "--exclude", "./bad", "--format", "json"]) == 0
    assert [table["table"] for table in wire(capsys)["tables"]] == ["lake/good", "lake/old_one"]
    monkeypatch.chdir("bad")
    assert main(["detail", ".", "../../lake/old_one", str(project / "lake" / "good"), "--format", "json"]) == 0
    assert [t["table"] for t in wire(capsys)["tables"]] == ["lake/bad", "lake/old_one", str(project / "lake" / "good")]


def test_state_and_results_that_are_typed_are_in_the_working_directory(project, monkeypatch):
    monkeypatch.chdir(project / "lake")
    assert main(["audit", "good", "--state-path", "own", "--output", "r.txt", "--report", "r.json"]) == 0
    assert {"own", "r.txt", "r.json"} <= {path.name for path in (project / "lake").iterdir()}
    assert not (project / "own").exists()
    assert main(["init-spec", "good", "--output", "good.yaml"]) == 0
    assert main(["init-spec", "good", "--output", "good.yaml"]) == 2
    assert main(["check-drift", "--spec", "good.yaml"]) == 0


def test_baseline_of_one_folder_is_good_in_another(folder, project, capsys, monkeypatch):
    assert main(["audit", "--format", "json", "--output", str(project / "old.json"), "--exit-zero", *folder]) == 0
    for place, words in (("lake", ["bad"]), ("", ["lake/*"]), ("lake/good", ["../**", str(project / "lake" / "bad")])):
        monkeypatch.chdir(project / place)
        assert main(["audit", *words, "--baseline", str(project / "old.json"), "--no-config"]) == (
            0 if not place else 1
        )
        assert main(["audit", *words, "--baseline", str(project / "old.json")]) == 0


def test_code_scanning_finds_files_and_alerts_again(folder, project, capsys, monkeypatch):
    main(["audit", "--format", "sarif", *folder])
    found = wire(capsys)["runs"][0]["results"][0]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "project/lake/bad/_delta_log/00000000000000000003.json"
    assert (project.parent / place).is_file()
    main(
        ["audit", str(project / "lake" / "bad"), "--format", "sarif", "--config", str(project / "delta-provider.toml")]
    )
    again = wire(capsys)["runs"][0]["results"][0]
    assert again["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == place
    assert again["partialFingerprints"] == found["partialFingerprints"]
    main(["audit", str(project / "lake" / "bad"), "--format", "github", "--no-config"])
    assert f"::error file={place},line=1," in capsys.readouterr().out


def test_without_a_repository_files_are_relative_to_the_project(project, capsys, monkeypatch):
    (project.parent / ".git").rmdir()
    monkeypatch.chdir(project / "lake")
    main(["audit", "--format", "sarif"])
    found = wire(capsys)["runs"][0]["results"][0]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("lake/bad/_delta_log/")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders/", "lake/orders"),
        ("./x//y", "lake/x/y"),
        ("./..", "./"),
        ("../orders", "./orders"),
        ("../../other/*", "../other/*"),
        ("**", "**"),
        ("./**", "lake/**"),
        ("s3://lake/**", "s3://lake/**"),
        ("/lake/x/", "/lake/x/"),
        ("sales.orders", "sales.orders"),
        ("delta.`./o*`", "delta.`lake/o*`"),
        ("a..b", "a..b"),
    ],
)
def test_name_of_what_is_typed_in_a_folder_below(text, name, tmp_path, monkeypatch):
    (tmp_path / "lake").mkdir()
    monkeypatch.chdir(tmp_path / "lake")
    assert ProjectFolder(str(tmp_path)).typed(text) == name


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("lake/orders", "project/lake/orders"),
        ("./", "project"),
        ("../", "."),
        ("../../elsewhere", None),
        ("/repository/a//b/", "a/b"),
        ("file:///repository/a", "a"),
        ("file:/repository", "."),
        ("/repositories/a", None),
        ("s3://repository/a", None),
    ],
)
def test_path_in_a_repository(location, path):
    assert SourceTree("/repository", "/repository/project").path(location) == path
