"""The hooks of the guide, run by pre-commit itself in a repository that has tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.unit.command_line.tables import damaged, sound
from tests.unit.command_line.test_guide import blocks, with_program

ROOT = Path(__file__).parents[3]
PUBLISHED, FILES, LOCAL = (block for block in blocks("yaml") if block.startswith("repos:"))


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
    return subprocess.check_output(["git", *identity, *words], cwd=folder, text=True).strip()


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A repository with the package and its hook, as one has it who clones this one."""
    folder = tmp_path_factory.mktemp("published")
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "airflow_delta_provider", folder / "airflow_delta_provider", ignore=leave_out)
    (folder / "scripts").mkdir()
    for name in (".pre-commit-hooks.yaml", "scripts/pre_commit_hook.py"):
        shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "release")
    git(folder, "tag", "COMMIT")
    return folder


@pytest.fixture(params=["published", "local"])
def repository(request, tmp_path, published) -> Path:
    """A repository with a sound table and a hook."""
    folder = tmp_path / "repository"
    sound(folder / "lake" / "sales" / "orders")
    text = LOCAL if request.param == "local" else PUBLISHED.replace("../airflow-delta-provider", str(published))
    (folder / ".pre-commit-config.yaml").write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "before")
    return folder


@pytest.fixture
def run(request, repository) -> Callable[[], subprocess.CompletedProcess[str]]:
    """Run the hooks on what is staged; ``delta-provider`` is installed for the hook that needs it alone."""
    given = with_program(repository.parent) if "local" in request.node.callspec.id else os.environ
    environment = {**given, "PRE_COMMIT_HOME": str(repository.parent / "pre-commit")}
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never"]
    return lambda: subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)


def test_commit_of_a_damaged_log_fails_and_one_of_a_sound_log_passes(repository, run):
    sound(repository / "lake" / "new")
    git(repository, "add", ".")
    passed = run()
    assert (passed.returncode, "Passed" in passed.stdout) == (0, True), passed.stdout + passed.stderr
    damaged(repository / "lake" / "bad", "AC08")
    git(repository, "add", ".")
    failed = run()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "VIOLATED  lake/bad  version 6  AC08" in failed.stdout
    assert "3 tables · 2 pass · 1 violated (AC08)" in failed.stdout


def test_commit_of_anything_else_audits_nothing(repository, run):
    damaged(repository / "lake" / "bad", "AC08")
    (repository / "README.md").write_text("About the lake\n")
    git(repository, "add", "README.md")
    skipped = run()
    assert (skipped.returncode, "no files to check" in skipped.stdout) == (0, True), skipped.stdout + skipped.stderr


def test_commit_of_a_wrong_spec_fails_with_its_place(tmp_path, published):
    folder = tmp_path / "repository"
    (folder / "tables").mkdir(parents=True)
    (folder / ".pre-commit-config.yaml").write_text(FILES.replace("../airflow-delta-provider", str(published)))
    git(folder, "init", "-q")
    (folder / "tables" / "orders.yaml").write_text("table: lake/orders\ncolumns: [{name: id, type: int}]\n")
    (folder / "other.yaml").write_text("not: of this package\n")
    environment = {
        **os.environ,
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # a python3 with PyYAML
    }
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never"]

    def commit() -> subprocess.CompletedProcess[str]:
        git(folder, "add", ".")
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    passed = commit()
    assert (passed.returncode, "Passed" in passed.stdout) == (0, True), passed.stdout + passed.stderr
    (folder / "tables" / "orders.yaml").write_text("table: lake/orders\ncolumns: [{name: id, typ: int}]\n")
    failed = commit()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "tables/orders.yaml:2:22: columns[0].typ: unknown key 'typ'" in failed.stdout
    (folder / "tables" / "orders.yaml").write_text("table: lake/orders\ncolumns: [{name: id, type: int}]\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qnm", "Declare orders")
    (folder / "tables" / "again.yaml").write_text("table: lake/orders\ncolumns: [{name: id, type: int}]\n")
    twice = commit()
    assert (twice.returncode, "has a spec already" in twice.stdout) == (1, True), twice.stdout + twice.stderr


def test_hook_looks_at_every_table_unless_it_is_told_otherwise():
    hook, _ = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["args"] == ["**"]
