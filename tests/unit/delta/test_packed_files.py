"""Files of a checkpoint as columns: the same as a dict of them, in a tenth of the memory."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import MutableMapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.delta import packed_files
from airflow_delta_provider.domain.delta.live_file import LiveFile, nums_records
from airflow_delta_provider.domain.delta.log_files import MalformedActionError
from airflow_delta_provider.domain.delta.packed_files import NotPackedError, PackedFiles, columns_of, hash_sum
from airflow_delta_provider.domain.delta.snapshot import ActionBatch, Snapshot, batches_of, file_key
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.jobs.delta import arrow_checkpoint
from tests.unit.audits_in_parts import Kept, told
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.local_table import open_log
from tests.unit.log_builder import Actions, Table
from tests.unit.states import field

Json = dict[str, Any]
SEEDS = range(20)


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are packed, too."""
    monkeypatch.setattr(packed_files, "FEW", -1)


def action(chance: random.Random, number: int) -> Json:
    path = chance.choice([f"part-{number}", f"größe={number}/part", f"%20/{number}", "twice"])
    vector = {"storageType": "u", "pathOrInlineDv": "ab" * 10, "offset": number, "sizeInBytes": 34, "cardinality": 1}
    body: Json = {"path": path, "deletionVector": chance.choice([None, None, vector])}
    if chance.random() < 0.2:
        return {"remove": {**body, "deletionTimestamp": chance.choice([None, number])}}
    stats = chance.choice([None, "", "{}", json.dumps({"numRecords": number}), json.dumps({"x": 1, "numRecords": 2})])
    ids = {"baseRowId": chance.choice([None, 7 * number]), "defaultRowCommitVersion": chance.choice([None, 1])}
    values = chance.choice([None, {}, {"p": "1", "q": None}, {"q": "", "p": "1"}])
    tags = chance.choice([None, {}, {"a": "b"}])
    return {"add": {**body, **ids, "size": number, "stats": stats, "partitionValues": values, "tags": tags}}


def taken(actions: Actions, **kept: bool) -> PackedFiles:
    files = PackedFiles(**kept)
    for batch in batches_of(actions):
        files.take(batch)
    return files


def in_columns(batch: ActionBatch) -> ActionBatch:
    """As readers of Parquet yield it: without fields that no action has."""
    bodies = list(batch.bodies())
    columns = {name: [body[name] for body in bodies] for name in bodies[0]}
    return ActionBatch(
        batch.kind,
        batch.count,
        {name: values for name, values in columns.items() if any(v is not None for v in values)},
    )


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_packed_files_are_those_of_a_dict(seed: int, columns: bool, packed: None) -> None:
    chance = random.Random(seed)
    actions = [action(chance, number) for number in range(chance.choice([0, 1, 30]))]
    replay, snapshot = Replay(with_files=True), Snapshot()
    replay.take(actions)
    snapshot.take(actions)

    files = PackedFiles(live=True, digests=True)
    for batch in batches_of(actions):
        files.take(in_columns(batch) if columns else batch)

    for found, expected in (
        (files.live(), replay.files),
        (files.digests(), snapshot.files),
        (files.tombstones(), snapshot.tombstones),
    ):
        assert list(found.items()) == list(expected.items())
        assert list(found.values()) == list(expected.values())
        assert (len(found), found) == (len(expected), expected)
        assert hash_sum(found) == hash_sum(expected)
        for each in actions:
            key = file_key(*each.values())
            assert (key in found, found.get(key)) == (key in expected, expected.get(key))
            assert key in files
        assert ("part-0", "none") not in found


@pytest.mark.parametrize(
    ("path", "is_odd"),
    [
        ("a", False),
        ("größe", False),
        (".a", True),
        ("/a", True),
        ("a/.b", True),
        ("a//b", True),
        ("a:b", True),
        ("%", True),
    ],
)
def test_odd_path_among_packed_ones_is_noticed(path: str, is_odd: bool, packed: None) -> None:
    files = taken([{"add": {"path": each, "size": 1}} for each in ("x", path, "y", "")], live=True)
    assert [some.may_be_odd for some in columns_of(files.live().values())] == [is_odd]


STATISTICS = ['{"numRecords":5}', ' { "numRecords" : 7 ,"x":1}', '{"numRecords":0,"y":"größe"}']


@pytest.mark.parametrize("other", [None, "", "{}", '{"x":1,"numRecords":2}', '{"numRecords":-1}', '{"numRecords":2.5}'])
def test_row_counts_of_statistics_are_those_that_python_reads(other: str | None) -> None:
    for texts in (STATISTICS, [*STATISTICS, other]):
        rows = pa.array([{"path": str(n), "size": n, "stats": text} for n, text in enumerate(texts)])
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"add": rows}), sink)
        (batch,) = arrow_checkpoint.batches(sink.getvalue().to_pybytes(), {}, None)
        assert batch.longest("stats") >= max(len(text or "") for text in texts)
        assert batch.row_counts() == nums_records(texts)
        assert batch.column("stats") == texts
        assert [body["stats"] for body in batch.bodies()] == texts


@pytest.mark.parametrize("seed", SEEDS)
def test_later_changes_leave_the_order_of_a_dict(seed: int, packed: None) -> None:
    chance = random.Random(seed)
    actions = [{"add": {"path": f"p{number}", "size": number}} for number in range(20)]
    found: MutableMapping[Any, Any] = taken(actions, live=True).live()
    assert not isinstance(found, dict)
    expected = dict(found.items())
    for step in range(60):
        key = (f"p{chance.randrange(30)}", chance.choice(["", "", "v"]))
        if chance.random() < 0.5:
            assert found.pop(key, None) == expected.pop(key, None)
        else:
            found[key] = expected[key] = LiveFile(key[0], step, None, None)
        assert list(found.items()) == list(expected.items())
        assert list(found.keys()) == list(expected)
        assert len(found) == len(expected)
        assert hash_sum(found) == hash_sum(expected)
        assert found.get(key) == expected.get(key)
    with pytest.raises(KeyError):
        del found["none", ""]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"size": 1}, "it has no path"),
        ({"path": 1, "size": 1}, "its path is 1, not a string"),
        ({"path": "p"}, "it has no size"),
        ({"path": "p", "size": 1 << 64}, "not an integer of 64 bits"),
        ({"path": "p", "size": True}, "not an integer of 64 bits"),
        ({"path": "p", "size": 1, "stats": 1.5}, "its stats are not a string"),
        ({"path": "p", "size": 1, "baseRowId": "1"}, "not an integer of 64 bits"),
        ({"path": "p", "size": 1, "partitionValues": "x"}, "not a map"),
        ({"path": "p", "size": 1, "deletionVector": {"storageType": "u"}}, "its descriptor lacks"),
    ],
)
def test_malformed_file_is_told_like_that_of_a_commit(body: Json, what: str) -> None:
    actions = [{"add": {"path": "first", "size": 1}}, {"add": body}]
    with pytest.raises(MalformedActionError) as of_commit:
        Replay(with_files=True).take(actions)
    with pytest.raises((MalformedActionError, NotPackedError)) as error:
        taken(actions, live=True)
    if isinstance(error.value, MalformedActionError):
        assert str(error.value) == str(of_commit.value)
    assert what in str(of_commit.value)


def table() -> Table:
    return Table(field("id", "long")).append(3).append().append()


def cut(made: Table, version: int, actions: Actions) -> Kept:
    """A log that begins at a checkpoint."""
    storage = Kept(made.commits)
    storage.files = {name: content for name, content in storage.files.items() if int(name[:20]) > version}
    storage.files[classic_name(version)] = as_parquet(actions)
    return storage


def test_number_that_cannot_be_packed_is_kept_all_the_same(packed: None) -> None:
    made = table()
    actions = reconciled(made.commits[:2])
    (first, *_) = (each["add"] for each in actions if "add" in each)
    first["baseRowId"] = -(1 << 63)
    state = open_log(cut(made, 1, actions), "file:/t").read_state(with_files=True)
    assert {file.base_row_id for file in state.live_files} == {-(1 << 63), None}


def test_checkpoint_at_the_start_is_read_once(packed: None) -> None:
    made = table()
    storage = cut(made, 1, reconciled(made.commits[:2]))
    storage.files[classic_name(3)] = as_parquet(reconciled(made.commits[:4]))
    read: list[str] = []

    class Counted(Kept):
        def read(self, path: str) -> bytes:
            read.append(path.rsplit("/", 1)[-1])
            return super().read(path)

        def size(self, path: str) -> int:
            return len(self.files[path.rsplit("/", 1)[-1]])

    counted = Counted([])
    counted.files = storage.files
    assert [finding.code for finding in told(counted)[0]] == ["LG01"]
    assert [name for name in read if name.endswith(".parquet")] == [classic_name(1), classic_name(3)]


def test_file_takes_less_than_two_hundred_bytes() -> None:
    count = 30_000
    adds = [
        {"path": f"part-{number:05d}-12345678-1234-1234-1234-1234567890ab-c000.snappy.parquet", "size": number}
        | {"baseRowId": number, "defaultRowCommitVersion": 1, "stats": '{"numRecords":1}', "modificationTime": number}
        for number in range(count)
    ]
    tracemalloc.start()
    files = taken([{"add": add} for add in adds], live=True, digests=True)
    assert len(files.live()) == len(files.digests()) == count
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 200 * count
