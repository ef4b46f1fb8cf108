"""Completion of words in a shell: the program is asked as the shell function of argcomplete does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("argcomplete")


def completed(line: str, folder: Path) -> list[str]:
    """Return the words that the program offers at the end of a line."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(folder / "words"),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    command = [sys.executable, "-m", "airflow_delta_provider"]
    subprocess.run(command, env=environment, cwd=folder, check=True, timeout=60)
    return (folder / "words").read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "delta-provider che",
            {"check-row-tracking", "check-drift", "check-compatibility", "check-retention", "check-paimon"},
        ),
        ("delta-provider audit --form", {"--format"}),
        ("delta-provider audit --format sa", {"sarif"}),
        ("delta-provider audit t --level f", {"footers"}),
        ("delta-provider explain RT1", {"RT15"}),
        ("delta-provider explain row-ids-assigned", {"row-ids-assigned-twice"}),
        ("delta-provider rules --family T", {"TF", "TW"}),
        ("delta-provider warm-up --jars", {"--jars-only"}),
    ],
)
def test_words_are_completed(tmp_path, line, words):
    assert words <= set(completed(line, tmp_path))


def test_paths_are_completed(tmp_path):
    (tmp_path / "lake").mkdir()
    assert completed("delta-provider audit la", tmp_path) == ["lake/"]
