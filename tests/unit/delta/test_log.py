from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.commit import changes_metadata, commit_info, parse_commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    NoLogError,
    commit_name,
    commit_versions,
    select_segment,
    version_of,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import Replay

UUID = "3f2c1e4a-0000-4000-8000-0123456789ab"


def commits(*versions: int) -> list[str]:
    return [commit_name(v) for v in versions]


def classic(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def part(version: int, index: int, total: int) -> str:
    return f"{version:020d}.checkpoint.{index:010d}.{total:010d}.parquet"


def by_uuid(version: int, suffix: str) -> str:
    return f"{version:020d}.checkpoint.{UUID}.{suffix}"


# -- segments -------------------------------------------------------------------------------------


def test_log_without_checkpoint_is_all_its_commits():
    segment = select_segment([*commits(1, 0, 2), "_last_checkpoint", f"{2:020d}.crc", ".0.json.tmp"])
    assert (segment.version, segment.checkpoint_version, segment.checkpoint_files) == (2, None, ())
    assert segment.commits == tuple(commits(0, 1, 2))
    assert segment.checksum == f"{2:020d}.crc"


@pytest.mark.parametrize("checkpoint", [classic(4), by_uuid(4, "json"), by_uuid(4, "parquet")])
def test_checkpoint_stands_for_the_commits_up_to_it(checkpoint):
    segment = select_segment([checkpoint, *commits(5, 6)])
    assert (segment.version, segment.checkpoint_version, segment.checkpoint_files) == (6, 4, (checkpoint,))
    assert segment.commits == tuple(commits(5, 6))


def test_multi_part_checkpoint_counts_when_all_its_parts_are_there():
    parts = [part(4, n, 3) for n in (1, 2, 3)]
    segment = select_segment([*reversed(parts), *commits(3, 4, 5)])
    assert segment.checkpoint_files == tuple(parts)


def test_multi_part_checkpoint_with_a_missing_part_is_not_used():
    names = [classic(2), part(4, 1, 2), *commits(0, 1, 2, 3, 4, 5)]
    assert select_segment(names).checkpoint_version == 2


def test_parts_of_two_checkpoints_of_one_version_are_not_mixed():
    names = [part(4, 1, 2), part(4, 1, 3), part(4, 2, 3), *commits(*range(6))]
    assert select_segment(names).checkpoint_version is None


def test_whole_checkpoint_is_taken_rather_than_the_parts_beside_it():
    names = [part(4, 1, 2), part(4, 2, 2), classic(4), *commits(5)]
    assert select_segment(names).checkpoint_files == (classic(4),)


def test_checkpoint_newer_than_every_commit_is_the_newest_version():
    assert select_segment([classic(9)]).version == 9


def test_older_version_uses_the_checkpoint_before_it():
    names = [classic(2), classic(6), *commits(*range(9))]
    segment = select_segment(names, 5)
    assert (segment.version, segment.checkpoint_version) == (5, 2)
    assert segment.commits == tuple(commits(3, 4, 5))


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (commits(0, 2), "00000000000000000001.json missing"),
        (commits(1, 2), "00000000000000000000.json missing"),
        ([classic(3), *commits(5)], "00000000000000000004.json missing"),
        (commits(0, 4), "00000000000000000001.json and 2 more missing"),
    ],
)
def test_gap_is_an_error_that_names_the_missing_commit(names, missing):
    with pytest.raises(BrokenLogError, match=missing):
        select_segment(names)


def test_version_that_is_not_there_is_an_error():
    with pytest.raises(BrokenLogError, match="missing"):
        select_segment(commits(0, 1), 5)


def test_directory_without_commit_or_checkpoint_is_no_log():
    with pytest.raises(NoLogError):
        select_segment(["_last_checkpoint", "00000000000000000000.crc", "notes.json", "0.json"])


@given(st.sets(st.integers(0, 30), min_size=1), st.sets(st.integers(0, 30)))
def test_segment_is_complete_or_there_is_an_error(versions, checkpoints):
    names = [*commits(*versions), *map(classic, checkpoints)]
    newest = max(versions | checkpoints)
    base = max(checkpoints, default=-1)
    complete = set(range(base + 1, newest + 1)) <= versions
    try:
        segment = select_segment(names)
    except BrokenLogError:
        assert not complete
    else:
        assert complete
        assert [version_of(name) for name in segment.commits] == list(range(base + 1, newest + 1))


def test_versions_of_commits_are_those_of_whole_names_only():
    assert commit_versions([*commits(3, 1), "00000000000000000002.json.tmp", "a00000000000000000004.json"]) == [1, 3]


# -- commits --------------------------------------------------------------------------------------


def test_commit_is_read_line_by_line_and_blank_lines_do_not_matter():
    assert parse_commit("n", b'{"a":1}\r\n\n{"b":2}\n') == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b'{"add":{"path":"x"', "line 1 .* truncated"),
        (b'{"a":1}\n{"b":', "line 2"),
        (b'{"a":1}\n3\n', "line 2 .* no action"),
        (b"\xff\xfe", "line 1"),
    ],
)
def test_damaged_commit_is_an_error_that_names_file_and_line(content, message):
    with pytest.raises(BrokenLogError, match=message) as caught:
        parse_commit("00000000000000000007.json", content)
    assert "00000000000000000007.json" in str(caught.value)


def test_commit_info_is_found_wherever_it_stands():
    assert commit_info([{"add": {}}, {"commitInfo": {"operation": "WRITE"}}]) == {"operation": "WRITE"}
    assert commit_info([{"add": {}}]) == {}


@pytest.mark.parametrize(("kind", "changes"), [("protocol", True), ("metaData", True), ("add", False), ("txn", False)])
def test_commit_changes_metadata_with_a_protocol_or_metadata_action(kind, changes):
    assert changes_metadata([{"commitInfo": {}}, {kind: {}}]) is changes


# -- replay ---------------------------------------------------------------------------------------

PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
METADATA = {"metaData": {"id": "1", "schemaString": '{"type":"struct","fields":[]}', "configuration": {"a": "1"}}}


def add(path: str, *, vector: dict | None = None, **known) -> dict:
    return {"add": {"path": path, "size": 1, **({"deletionVector": vector} if vector else {}), **known}}


def remove(path: str, *, vector: dict | None = None) -> dict:
    return {"remove": {"path": path, **({"deletionVector": vector} if vector else {})}}


def replayed(*batches, with_files=True):
    replay = Replay(with_files=with_files)
    for batch in batches:
        replay.take(batch)
    return replay.state(len(batches) - 1)


def test_last_protocol_and_metadata_win():
    newer = {"metaData": {**METADATA["metaData"], "configuration": {"a": "2"}}}
    state = replayed([PROTOCOL, METADATA], [newer], [{"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}])
    assert state.version == 2
    assert state.metadata.configuration == {"a": "2"}
    assert state.protocol.min_writer_version == 5


def test_file_is_live_from_its_add_to_its_remove():
    state = replayed([PROTOCOL, METADATA, add("a"), add("b")], [remove("a"), add("c", baseRowId=3)])
    assert set(state.files) == {("b", ""), ("c", "")}
    assert state.files["c", ""] == LiveFile("c", 1, 3, None)


def test_file_with_another_deletion_vector_is_another_file():
    old, new = (
        {"storageType": "u", "pathOrInlineDv": name, "offset": 1, "sizeInBytes": 40, "cardinality": 6}
        for name in ("old", "new")
    )
    state = replayed([PROTOCOL, METADATA, add("a", vector=old)], [remove("a", vector=old), add("a", vector=new)])
    assert [key[1] for key in state.files] == ["unew@1"]


def test_domain_is_kept_until_its_tombstone():
    def domain(name, removed):
        return {"domainMetadata": {"domain": name, "configuration": "{}", "removed": removed}}

    state = replayed([PROTOCOL, METADATA, domain("a", False), domain("b", False)], [domain("a", True)])
    assert state.domains == {"b": "{}"}


def test_files_are_left_out_where_nobody_asked_for_them():
    assert replayed([PROTOCOL, METADATA, add("a")], with_files=False).files is None


@pytest.mark.parametrize(("actions", "missing"), [([PROTOCOL], "metaData"), ([METADATA], "protocol")])
def test_log_without_protocol_or_metadata_is_broken(actions, missing):
    with pytest.raises(BrokenLogError, match=f"no {missing} action"):
        replayed(actions)


@pytest.mark.parametrize(
    "action",
    [
        {"protocol": {"minReaderVersion": 1}},
        {"protocol": {"minReaderVersion": "x", "minWriterVersion": 2}},
        {"add": {"path": "a"}},
        {"remove": {}},
        {"metaData": 3},
        {"domainMetadata": {"domain": "x"}},
    ],
)
def test_malformed_action_is_an_error_that_names_its_kind(action):
    with pytest.raises(BrokenLogError, match=f"^an? {next(iter(action))} action is malformed"):
        replayed([PROTOCOL, METADATA, action])


def test_unknown_kinds_and_null_columns_of_checkpoints_are_skipped():
    assert replayed([PROTOCOL, METADATA, {"hologram": {"x": 1}}, {"add": None, "remove": None}]).files == {}


@pytest.mark.parametrize(
    "text", ["", "not json", '"string"', "[]", '{"type":"struct"}', '{"type":"struct","fields":[1]}']
)
def test_schema_that_cannot_be_read_is_a_broken_log(text):
    with pytest.raises(BrokenLogError, match="schema"):
        _ = Metadata("id", text).schema


def test_check_constraints_are_read_from_the_configuration():
    metadata = Metadata("id", "", (), {"delta.constraints.positive": "a > 0", "delta.appendOnly": "true"})
    assert metadata.check_constraints == {"positive": "a > 0"}
