"""What is shown of a run that takes long: a bar on terminals, lines elsewhere."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from airflow_delta_provider.command_line import terminal as terminal_module
from airflow_delta_provider.command_line.terminal import ProgressBar, Terminal


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which everything takes long."""
    monkeypatch.setattr(terminal_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(terminal_module, "is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def wait_for_the_bar(progress: ProgressBar) -> None:
    """Wait until the bar is there, or the time for it is over: no table is done yet."""
    if progress._timer is not None:
        progress._timer.join(10)


def shown(capsys: pytest.CaptureFixture[str], *, quiet: bool = False) -> tuple[bool, str]:
    """Return whether there was a bar, and what was printed."""
    report: Any = None
    with ProgressBar(2, Terminal(quiet=quiet)) as progress:
        wait_for_the_bar(progress)
        progress("first")
        progress.count(report)
        progress("second")
        progress.count(report)
        bar = progress._bar is not None
    said = capsys.readouterr()
    assert said.out == ""
    return bar, said.err


def test_lines_and_a_bar_are_shown(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    pytest.importorskip("rich")
    bar, said = shown(capsys)
    assert bar
    assert said.index("first") < said.index("second")
    assert "2/2" in said


def test_without_rich_there_are_lines(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert shown(capsys) == (False, "first\nsecond\n")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminals_that_want_none_have_lines(variables, capsys, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert shown(capsys) == (False, "first\nsecond\n")


def test_quiet_shows_nothing(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert shown(capsys, quiet=True) == (False, "")
