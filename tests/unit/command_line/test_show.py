"""The command ``show``: it prints what the command that made the report printed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.rendering.presentation import FORMATS
from tests.unit.command_line.tables import damaged, sound


@pytest.fixture(autouse=True)
def lake(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    sound(tmp_path / "lake" / "good")
    damaged(tmp_path / "lake" / "bad", "AC08")
    return tmp_path


@pytest.mark.parametrize("form", sorted(FORMATS))
@pytest.mark.parametrize("compared", [False, True])
def test_saved_report_looks_as_it_did(lake, capsys, form, compared):
    words = ["audit", "lake/*", "--report", "r.json", "--format", form]
    if compared:
        main(["audit", "lake/*", "--report", "old.json", "-q"])
        words += ["--baseline", "old.json"]
    capsys.readouterr()
    assert main(words) == (0 if compared else 1)
    printed = capsys.readouterr().out
    assert main(["show", "r.json", "--format", form]) == 0
    assert capsys.readouterr().out == printed
    assert main(["show", "r.json", "--format", form, "--output", "shown"]) == 0
    assert (lake / "shown").read_text(encoding="utf-8") == printed


def test_report_comes_from_standard_input(lake, capsys, monkeypatch):
    main(["audit", "lake/*", "--report", "r.json"])
    printed = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((lake / "r.json").read_bytes())))
    assert main(["show", "-"]) == 0
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "r.json cannot be read: No such file or directory."),
        ("{}", "r.json is not a JSON report."),
        ("[", "r.json is not a JSON report."),
        ('{"schema_version": 99}', "The report has schema version 99"),
    ],
)
def test_file_that_is_no_report_is_a_usage_error(lake, capsys, content, said):
    if content is not None:
        (lake / "r.json").write_text(content)
    assert main(["show", "r.json"]) == 2
    assert said in capsys.readouterr().err


def test_result_needs_its_folder(lake, capsys):
    main(["audit", "lake/*", "--report", "r.json", "-q"])
    assert main(["show", "r.json", "--output", "none/r.txt"]) == 2
    assert "--output none/r.txt: there is no directory none" in capsys.readouterr().err
