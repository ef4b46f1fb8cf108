"""The guide to the command line: its commands make sense, its configuration is read, its scripts for CI run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from airflow_delta_provider.command_line.invocation import read_config
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.parser import (
    FILE_COMMANDS,
    RULE_COMMANDS,
    files_parser,
    kind_of,
    rules_parser,
    table_parser,
)
from tests.unit.command_line.tables import damaged, sound

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "command-line.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
COMMANDS = [
    line.removeprefix("$ delta-provider ")
    for language, block in BLOCKS
    if language == "console"
    for line in block.splitlines()
    if line.startswith("$ delta-provider ")
]


def blocks(language: str) -> list[str]:
    return [block for known, block in BLOCKS if known == language]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_parsed(line):
    command, *words = shlex.split(line)
    kind = kind_of(command)
    if kind is not None:
        parser = table_parser(command, kind)
    else:
        parser = files_parser() if command in FILE_COMMANDS else rules_parser(command)
        assert command in {**FILE_COMMANDS, **RULE_COMMANDS}
    parser.parse_intermixed_args(words)


def test_configuration_is_read(tmp_path):
    (tmp_path / "delta-provider.toml").write_text(*blocks("toml"), encoding="utf-8")
    config = read_config(tmp_path / "delta-provider.toml")
    assert (len(config.tables), len(config.waivers), config.strict) == (2, 1, True)


def test_configuration_is_valid_for_an_audit(tmp_path, monkeypatch, capsys):
    sound(tmp_path / "t")
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^state_path.*$", "", *blocks("toml"), flags=re.MULTILINE)
    (tmp_path / "delta-provider.toml").write_text(text, encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text("engines: [{engine: Delta Spark}]", encoding="utf-8")
    assert main(["audit", "t"]) == 0


def scripts() -> dict[str, str]:
    """Return the scripts for CI, by what runs them."""
    _, _, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    several, shell = blocks("bash")
    return {
        "several": several,
        "hook": shlex.join(shlex.split(hooks["repos"][0]["hooks"][0]["entry"])),  # no shell expands it
        "shell": shell,
    }


@pytest.mark.parametrize("name", ["several", "hook", "shell"])
@pytest.mark.parametrize("expected", [0, 1])
def test_scripts_pass_sound_tables_and_fail_on_others(name, expected, tmp_path):
    sound(tmp_path / "lake" / "sales" / "orders")
    if expected:
        damaged(tmp_path / "lake" / "bad", "AC08")
    environment = {**with_program(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = subprocess.run(
        ["bash", "-c", scripts()[name]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == expected, done.stderr
    if name == "several":
        assert "pass" in (tmp_path / "summary.md").read_text(encoding="utf-8")
        assert ("::error" in done.stdout) is bool(expected)
    if name == "shell":
        assert (tmp_path / "audit.html").exists()


def with_program(folder: Path) -> dict[str, str]:
    """Return an environment in which ``delta-provider`` is this checkout's."""
    program = folder / "bin" / "delta-provider"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m airflow_delta_provider "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
