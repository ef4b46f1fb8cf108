"""The command ``demo``: its claims come true without Java, Airflow and any other package."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from airflow_delta_provider.command_line import demo
from airflow_delta_provider.command_line.main import main

ROOT = Path(__file__).parents[3]


def test_demo_finds_the_three_damages_in_20_seconds_with_the_standard_library_alone(tmp_path):
    archive = tmp_path / "program.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for path in sorted((ROOT / "airflow_delta_provider").rglob("*")):
            if path.suffix in (".py", ".json") and "__pycache__" not in path.parts:
                opened.write(path, path.relative_to(ROOT))
        opened.writestr("__main__.py", "from airflow_delta_provider.__main__ import start\nstart()\n")
    began = time.monotonic()
    command = [sys.executable, "-I", "-S", str(archive), "demo", "lake", "--no-browser"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert time.monotonic() - began < 20
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 tables · 2 pass · 3 violated (LG02, RT15, TW08)" in done.stdout
    page = (tmp_path / "lake" / "report.html").read_text(encoding="utf-8")
    assert all(code in page for code in ("LG02", "RT15", "TW08"))


def test_demo_that_misses_a_damage_fails(tmp_path, monkeypatch):
    """A damage that is none: the sound commits are all there."""
    made = demo._tables

    def sound(now: int):
        tables = made(now)
        return {**tables, "events": demo._Table(tables["customers"].commits, "nothing")}

    monkeypatch.setattr(demo, "_tables", sound)
    assert main(["demo", str(tmp_path / "lake"), "--no-browser"]) == 4


@pytest.mark.parametrize(
    ("name", "said"), [("full", "full is not empty."), ("file", "file cannot be used: File exists.")]
)
def test_folder_with_files_is_left_alone(tmp_path, monkeypatch, capsys, name, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    for path in ("full/mine", "file"):
        (tmp_path / path).write_text("mine")
    assert main(["demo", name]) == 2
    assert said in capsys.readouterr().err
    assert (tmp_path / "full" / "mine").read_text() == "mine"


def test_browser_opens_only_where_there_is_a_screen(tmp_path, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(demo.webbrowser, "open", opened.append)
    for name in ("CI", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    main(["demo", str(tmp_path / "a")])
    monkeypatch.setenv("DISPLAY", ":0")
    main(["demo", str(tmp_path / "b"), "--no-browser"])
    main(["demo", str(tmp_path / "c")])
    monkeypatch.setenv("CI", "true")
    main(["demo", str(tmp_path / "d")])
    assert opened == [(tmp_path / "c" / "report.html").as_uri()]
