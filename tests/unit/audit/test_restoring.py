"""RESTORE by the real deltalake, on each damage whose remedy names it: it does what the page of remedies says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables.restoring import outcomes, recorded

deltalake = pytest.importorskip("deltalake")


def restore(path: Path, version: int) -> str | None:
    try:
        deltalake.DeltaTable(str(path)).restore(version, ignore_missing_files=True)
    except Exception:  # of a table that it does not support, too
        return ""
    return None


def test_restore_does_to_each_damage_what_is_recorded(tmp_path: Path) -> None:
    found = outcomes(restore, tmp_path)
    known = recorded("deltalake", found)
    assert found.keys() == known.keys()
    differing = {code: outcome for code, outcome in found.items() if outcome != known[code]}
    assert set(differing.values()) <= {"refused"}, "other releases support fewer features"
    assert "healed" in found.values()
