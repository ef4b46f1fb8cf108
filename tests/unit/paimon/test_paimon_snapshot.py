from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon.schema import PaimonFormatError
from airflow_delta_provider.domain.paimon.snapshot import ManifestListFile, Snapshot

_SNAPSHOT: dict[str, Any] = {
    "version": 3,
    "uuid": "5b1c",
    "id": 7,
    "schemaId": 1,
    "baseManifestList": "manifest-list-a-0",
    "baseManifestListSize": 10,
    "deltaManifestList": "manifest-list-a-1",
    "deltaManifestListSize": 11,
    "changelogManifestList": "manifest-list-a-2",
    "changelogManifestListSize": 12,
    "indexManifest": "index-manifest-a-0",
    "commitUser": "u",
    "writerVersion": "2.1",
    "commitIdentifier": 9223372036854775807,
    "commitKind": "APPEND",
    "timeMillis": 1795264323528,
    "totalRecordCount": 34,
    "deltaRecordCount": -10,
    "changelogRecordCount": 5,
    "watermark": -9223372036854775808,
    "statistics": "stat-a-0",
    "properties": {"k": "v"},
    "nextRowId": 30,
    "operation": "MERGE",
}
_OLD_REQUIRED = (
    "id", "schemaId", "baseManifestList", "deltaManifestList", "commitUser", "commitIdentifier", "commitKind",
    "timeMillis",
)  # fmt: skip


def test_all_that_a_snapshot_says_is_read() -> None:
    assert Snapshot.from_json(json.dumps(_SNAPSHOT)) == Snapshot(
        version=3,
        uuid="5b1c",
        id=7,
        schema_id=1,
        base=ManifestListFile("manifest-list-a-0", 10),
        delta=ManifestListFile("manifest-list-a-1", 11),
        changelog=ManifestListFile("manifest-list-a-2", 12),
        index_manifest="index-manifest-a-0",
        commit_user="u",
        commit_identifier=9223372036854775807,
        commit_kind="APPEND",
        operation="MERGE",
        time_millis=1795264323528,
        total_record_count=34,
        delta_record_count=-10,
        changelog_record_count=5,
        next_row_id=30,
        watermark=-9223372036854775808,
        statistics="stat-a-0",
        writer_version="2.1",
        properties={"k": "v"},
    )


def test_a_snapshot_of_an_old_writer_lacks_what_came_later() -> None:
    old = {key: _SNAPSHOT[key] for key in _OLD_REQUIRED}

    snapshot = Snapshot.from_json(json.dumps({**old, "logOffsets": {}}))

    assert (snapshot.version, snapshot.uuid, snapshot.base.size, snapshot.next_row_id) == (1, None, None, None)
    assert (snapshot.changelog, snapshot.index_manifest, snapshot.operation) == (None, None, None)
    assert snapshot.properties == {}


def test_a_version_and_kinds_that_nobody_knows_yet_are_read_as_they_are() -> None:
    snapshot = Snapshot.from_json(json.dumps({**_SNAPSHOT, "version": 99, "commitKind": "NEW", "operation": "NEWER"}))

    assert (snapshot.version, snapshot.commit_kind, snapshot.operation) == (99, "NEW", "NEWER")


@pytest.mark.parametrize("key", _OLD_REQUIRED)
def test_what_lacks_a_needed_key_is_no_snapshot(key: str) -> None:
    with pytest.raises(PaimonFormatError, match=f"lacks '{key}'"):
        Snapshot.from_json(json.dumps({name: value for name, value in _SNAPSHOT.items() if name != key}))


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"17", b"\xff", b"[" * 100_000, *(
        json.dumps({**_SNAPSHOT, key: value})
        for key, value in {
            "id": "7",
            "version": 1 << 40,
            "nextRowId": 1.5,
            "schemaId": True,
            "commitUser": 1,
            "totalRecordCount": 1 << 63,
            "deltaManifestList": ["x"],
            "baseManifestListSize": "10",
            "properties": [1],
            "uuid": {},
        }.items()
    )],
)  # fmt: skip
def test_what_is_no_snapshot_says_why(text: bytes | str) -> None:
    with pytest.raises(PaimonFormatError, match="it is not a snapshot: "):
        Snapshot.from_json(text)
