"""Checkpoints are read by PyArrow or by Spark: both find the same table in them."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.jobs.delta.log import arrow_checkpoint
from tests.tables import log, row_tracking


@pytest.mark.parametrize("kind", ["v2", "struct"])
def test_both_readers_find_the_same_table(built, session, kind, monkeypatch):
    path = built(row_tracking.checkpointed, kind=kind)
    table = session.open_table(str(path)).log
    by_arrow = table.read_state(with_files=True)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: False)
    assert table.read_state(with_files=True) == by_arrow
    assert {file.num_records for file in by_arrow.files.values()} != {None}
    assert by_arrow.version == log.newest(path)


@pytest.mark.parametrize("available", [True, False], ids=["arrow", "spark"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 100], ids=["empty", "garbage"])
def test_checkpoint_that_does_not_open_is_a_damaged_log(table, session, available, content, monkeypatch):
    path = table(row_tracking.checkpointed, kind="struct")
    for checkpoint in path.glob("_delta_log/*.checkpoint*.parquet"):
        checkpoint.write_bytes(content)
        checkpoint.with_name(f".{checkpoint.name}.crc").unlink(missing_ok=True)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: available)
    with pytest.raises(BrokenLogError, match=r"checkpoint file .* is damaged"):
        session.open_table(str(path)).log.read_state()
