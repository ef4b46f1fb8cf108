"""What the formats take from the command line and its configuration."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.rendering.presentation import FORMATS
from tests.unit.command_line.tables import damaged, sound

CODE = "MD03"
PAGE = "https://docs.example.com/reference/rules.html"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sound(tmp_path / "sound")
    damaged(tmp_path / "damaged", CODE)
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_asked_for(name: str, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "sound", "damaged", "--format", name]) == 1
    assert CODE in capsys.readouterr().out


@pytest.mark.parametrize("name", ["text", "markdown", "html", "sarif", "junit", "github"])
def test_rules_are_linked_where_the_configuration_says_they_are(
    name: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "delta-provider.toml").write_text(f'rules_page = "{PAGE}"\n')
    main(["audit", "sound", "damaged", "--format", name])
    assert f"{PAGE}#{CODE.lower()}" in capsys.readouterr().out


def test_page_of_rules_that_is_no_address_is_one_clear_line(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lake / "delta-provider.toml").write_text('rules_page = "rules.html"\n')
    assert main(["audit", "sound"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "delta-provider.toml: rules_page: 'rules.html' is not the address of the page of rules." in line


def test_what_a_baseline_has_fails_no_test_and_is_a_notice(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "damaged", "--format", "json", "--output", "before.json", "--exit-zero"]) == 0
    capsys.readouterr()
    assert main(["audit", "damaged", "--baseline", "before.json", "--format", "junit"]) == 0
    assert fromstring(capsys.readouterr().out.encode()).get("failures") == "0"
    assert main(["audit", "damaged", "--baseline", "before.json", "--format", "github"]) == 0
    assert capsys.readouterr().out.startswith("::notice ")


def test_new_findings_come_before_known_ones_and_are_counted(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged(lake / "also", CODE)
    assert main(["audit", "damaged", "also", "--format", "json", "--output", "before.json", "--exit-zero"]) == 0
    damaged(lake / "later", "TF17")  # undecided, which is less than the error that is known
    damaged(lake / "new", CODE)
    words = ["audit", "damaged", "new", "also", "--baseline", "before.json"]
    capsys.readouterr()
    assert main([*words, "--format", "markdown"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "3 tables · 3 violated (MD03 ×3) · findings: 1 new, 2 known · " in lines[2]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| VIOL")]
    assert [(name, codes) for _, _, name, _, codes, _ in rows] == [
        ("./new", "MD03"),
        ("./damaged", "MD03 (known)"),
        ("./also", "MD03 (known)"),
    ]
    assert [line.split("`")[1] for line in lines if line.startswith("* ")] == ["./new", "./damaged", "./also"]
    assert main(["audit", "later", "damaged", "--baseline", "before.json"]) == 0
    out = capsys.readouterr().out
    assert out.index("ERROR MD03") < out.index("UNDECIDED TF17"), "the last is nearest to the prompt"
    assert "findings: 1 new, 1 known" in out.splitlines()[-1]
