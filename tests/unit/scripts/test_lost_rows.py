"""The case that the README opens with: a query of a current engine that loses a row."""

from __future__ import annotations

import re

import pytest

from scripts.sample_blocks import CHECKOUT

pytest.importorskip("deltalake")


def test_demo_shows_the_lost_row_and_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    from demo.lost_rows import RULE, main

    assert main() == 0
    shown = capsys.readouterr().out
    assert "finds 0 of 1 rows" in shown
    assert f"WARNING {RULE}" in shown


def test_code_of_the_readme_loses_the_row(tmp_path, monkeypatch, capsys):
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "write_deltalake" in block)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "0\n"
