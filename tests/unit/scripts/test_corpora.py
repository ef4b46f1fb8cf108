"""The logs of corpora are known by their content."""

from __future__ import annotations

from pathlib import Path

from scripts.corpora import UNJUDGED, judged, logs


def write(table: Path, name: str, text: str) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / name).write_text(text)


def test_a_log_is_known_wherever_it_lies_and_until_it_changes(tmp_path: Path):
    for place in ("here/a", "there/b"):
        write(tmp_path / place, "0.json", "{}")
    (first,) = logs(tmp_path)
    assert first.table == tmp_path / "here" / "a"
    write(tmp_path / "here" / "a", "1.json", "{}")
    digests = [log.digest for log in logs(tmp_path)]
    assert len(digests) == 2
    assert first.digest == digests[1]


def test_each_finding_that_is_listed_was_judged():
    assert [digest for digest, reasons in judged().items() if UNJUDGED in reasons.values()] == []
