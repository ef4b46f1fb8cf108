"""The command line as one file: it runs on a Python that has nothing installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider import __version__
from scripts import dist
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    dist.main(str(folder))
    assert sorted(path.name for path in folder.iterdir()) == sorted([*dist.NAMES, dist.SUMS])
    return folder / dist.NAMES[0]


def run(python: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    command = [str(python), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two tables, of which one has a commit with several metaData actions."""
    table = Table(field("id", "long")).append().append()
    OnDisk(tmp_path / "lake" / "good", table)
    first = next(action for action in table.commits[0] if "metaData" in action)
    table.commits[2].extend([first, first])
    OnDisk(tmp_path / "lake" / "bad", table)
    return tmp_path / "lake"


def test_files_have_checksums(program: Path) -> None:
    command = ["sha256sum", "--check", "--strict", dist.SUMS]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == sorted(dist.NAMES)


def test_tables_are_audited_where_nothing_is_installed(python: Path, program: Path, lake: Path) -> None:
    ran = run(python, program, "audit", f"{lake}/**", "--format", "json")

    assert (ran.returncode, ran.stderr) == (1, "")
    tables = json.loads(ran.stdout)["tables"]
    assert [(Path(t["table"]).name, [f["code"] for f in t["findings"]]) for t in tables] == [
        ("bad", ["MD03"]),
        ("good", []),
    ]


def test_file_is_a_program(program: Path) -> None:
    assert os.access(program, os.X_OK)
    assert program.read_bytes().startswith(b"#!/usr/bin/env python3\n")


def test_what_takes_spark_says_so(python: Path, program: Path, lake: Path) -> None:
    ran = run(python, program, "audit", lake / "good", "--level", "data")

    assert ran.returncode == 4
    assert "PySpark is not installed" in ran.stderr


def test_version_and_rules_are_known(python: Path, program: Path) -> None:
    assert run(python, program, "--version").stdout.strip().endswith(__version__)
    assert "several metaData actions in a commit" in run(python, program, "explain", "MD03").stdout


def test_same_sources_give_the_same_bytes(program: Path) -> None:
    assert program.read_bytes() == dist.content()


def rewritten(program: Path, to: Path, suffix: str, change: Callable[[bytes], bytes]) -> Path:
    """Write the program with other content of its files with a suffix."""
    with zipfile.ZipFile(program) as old, zipfile.ZipFile(to, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith(suffix) else old.read(name))
    return to


def test_modules_are_not_compiled_again(python: Path, program: Path, tmp_path: Path) -> None:
    broken = rewritten(program, tmp_path / "broken.pyz", ".py", lambda _: b"a syntax error")
    assert run(python, broken, "--version").stdout == run(python, program, "--version").stdout


def test_another_version_of_python_compiles_the_sources(python: Path, program: Path, tmp_path: Path) -> None:
    other = rewritten(program, tmp_path / "other.pyz", ".pyc", lambda compiled: b"\0\0\r\n" + compiled[4:])
    assert run(python, other, "--version").stdout == run(python, program, "--version").stdout


def test_every_module_compiles_for_the_oldest_python_that_runs_it(program: Path) -> None:
    check = (
        "import ast, sys, zipfile\n"
        "archive = zipfile.ZipFile(sys.argv[1])\n"
        "for name in archive.namelist():\n"
        "    if name.endswith('.py'):\n"
        "        ast.parse(archive.read(name), name, feature_version=(3, 10))\n"
    )
    ran = subprocess.run([sys.executable, "-c", check, str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
