"""Triggers that wait while the package is upgraded: what an earlier version serialized is read by this one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.serialization.serialized_objects import BaseSerialization

_SHARED = {"deadline": 1_800_000_000.0, "storage_conn_id": None, "poke_interval": 60.0}
_SINCE = {"version": 3, "table_id": "a", "digests": {"schema": "0123456789abcdef"}}
#: Class paths and arguments as release 0.1.0 serialized them, without the table.
_SERIALIZED: dict[str, dict[str, Any]] = {
    "column_types.DeltaTypesTrigger": {"columns": {"lines.element.price": "decimal(12,2)", "id": "bigint"}},
    "feature.DeltaFeatureTrigger": {"features": ["typeWidening"], "state": "enabled"},
    "quiet.DeltaQuietTrigger": {"seconds": 600.0},
    "paimon_snapshot.PaimonSnapshotTrigger": {"since_snapshot": 2, "since_uuid": "u"},
    "table_change.DeltaChangeTrigger": {
        "since": _SINCE,
        "from_first_look": False,
        "at_least": None,
        "condition": {"schema": "changed"},
    },
    "health.DeltaHealthTrigger": {
        "on_violation": "wait",
        "on_undetermined": "pass",
        "fail_on": "warning",
        "waivers": "[]",
        "state_path": None,
    },
}


@pytest.mark.parametrize("path", _SERIALIZED)
def test_what_an_earlier_version_serialized_still_waits(path: str, tmp_path: Path) -> None:
    arguments = {"table": str(tmp_path / "t"), **_SHARED, **_SERIALIZED[path]}
    module, _, name = path.partition(".")
    kind = getattr(import_module(f"airflow_delta_provider.triggers.{module}"), name)
    trigger = kind(**BaseSerialization.deserialize(BaseSerialization.serialize(arguments)))
    kept, serialized = trigger.serialize()
    assert kept == f"airflow_delta_provider.triggers.{path}"
    assert {name: serialized[name] for name in arguments} == arguments  # later versions add arguments with defaults
    assert trigger.watch().poll() is None  # there is no table yet
