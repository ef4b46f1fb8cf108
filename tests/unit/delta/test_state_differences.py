"""Two states of one version: what a checkpoint says, and what the commits before it add up to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState, differences
from tests.unit.states import LEGACY, field, metadata_of, struct

A, B = LiveFile("a", 1, 0, 1, 5), LiveFile("b", 1, 5, 1, 5)
METADATA = metadata_of(struct(field("id", "long")))


def state(*files: LiveFile, **known: Any) -> TableState:
    return replace(TableState(3, LEGACY, METADATA, {"d": "1"}, {f.key: f for f in files}), **known)


@pytest.mark.parametrize(
    "other",
    [
        state(A, B),
        state(B, A),
        state(A._replace(num_records=None, data_change=False), B),
        state(A, B, domains={}),
        state(A, B, domains={"d": "1", "e": "2"}),
        state(A, B, metadata=replace(METADATA, schema_string=METADATA.schema_string.replace(",", " ,\n"))),
    ],
    ids=["equal", "another order", "no statistics", "a domain less", "a domain more", "blanks in the schema"],
)
def test_states_that_do_not_contradict_each_other(other: TableState) -> None:
    assert list(differences(state(A, B), other)) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (state(A), "1 live file is only in the first, the first b"),
        (state(A, B, LiveFile("c", 1, 10, 1)), "1 live file is only in the second, the first c"),
        (state(A._replace(base_row_id=9), B._replace(base_row_id=1)), "2 live files are with other row ids"),
        (state(A, B, domains={"d": "2"}), "the domainMetadata d is 1 in the first and 2 in the second"),
        (state(A, B, protocol=LEGACY.supporting(["rowTracking"])), "the protocol is reader 1, writer 2 in the first"),
        (state(A, B, metadata=metadata_of(struct(field("x", "long")))), "the metadata is not the same"),
    ],
)
def test_contradiction_is_named(other: TableState, said: str) -> None:
    (found,) = differences(state(A, B), other)
    assert found.startswith(said)


def test_replaced_file_is_missing_in_both_directions() -> None:
    found = list(differences(state(A, B), state(A, LiveFile("c", 1, 5, 1, 5))))
    assert found == [
        "1 live file is only in the first, the first b",
        "1 live file is only in the second, the first c",
    ]
