"""The states that a table has been in: a commit that returns to one of them is a restore, whatever it is called.

Rules exempt restores by their effect: a commit named RESTORE may be damaged, and engines also return to earlier
states under other operation names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.identity import HIGH_WATER_MARK, KEY
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import (
    ENABLEMENT_TIMESTAMP,
    ENABLEMENT_VERSION,
    MAX_COLUMN_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition

_MASK = (1 << 64) - 1
#: Keys that Delta keeps, or records again, when it restores an earlier version: properties, and a key of identity
#: columns.
_KEPT = frozenset({MAX_COLUMN_ID, ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN, ENABLEMENT_VERSION, ENABLEMENT_TIMESTAMP})


class _Seen(NamedTuple):
    """The versions that had the same metadata and files.

    :param lowest: the lowest ``maxColumnId`` among them
    :param version: the newest of them
    :param protocols: their protocols, without duplicates
    :param identities: their table ids with times of creation, without duplicates
    """

    lowest: int
    version: int
    protocols: tuple[Protocol, ...]
    identities: tuple[tuple[str, int | None], ...]

    @classmethod
    def of(cls, lowest: int, state: TableState, version: int, before: _Seen | None) -> _Seen:
        """Return the entry with one more version.

        :param state: the state of that version, or one with the same protocol and metadata
        """
        protocol, identity = state.protocol, identity_of(state.metadata)
        if before is None:
            return cls(lowest, version, (protocol,), (identity,))
        protocols, identities = before.protocols, before.identities
        return cls(
            lowest,
            version,
            protocols if protocol in protocols else (*protocols, protocol),
            identities if identity in identities else (*identities, identity),
        )


class EarlierStates:
    """Remembers a hash of metadata and a hash of files for each version, and the versions that had them."""

    def __init__(self) -> None:
        self._files = 0
        self._metadata = 0
        self._highest = 0
        self.had_protocol = False
        """True if the table also had the same protocol when it was in the state that the last commit leads to."""
        self.had_identity = False
        """True if it also had the same id and time of creation."""
        self._moved = False
        self._seen: dict[tuple[int, int], _Seen] = {}

    def begin(self, state: TableState) -> None:
        """Start from a state with its files."""
        self._files = 0
        for file in state.live_files:
            self._files = (self._files + hash(file.key)) & _MASK
        self._metadata = _metadata_number(state.metadata)
        self._highest = state.metadata.properties.max_column_id or 0
        there = (self._files, self._metadata)
        self._seen[there] = _Seen.of(self._highest, state, state.version, self._seen.get(there))

    def take(self, transition: Transition) -> int | None:
        """Record a commit. Return the newest version with the state that it leads to; None if there is none.

        None also if the commit changes nothing. Properties that a RESTORE does not bring back are not compared.
        """
        here = (self._files, self._metadata)
        gone = [file.key for file in (*transition.removed_files.values(), *transition.added_again.values())]
        self._move(transition.commit.added, gone)
        if transition.before.metadata is not transition.after.metadata:
            self._metadata = _metadata_number(transition.after.metadata)
            self._highest = transition.after.metadata.properties.max_column_id or 0
        there = (self._files, self._metadata)
        self._moved = there != here
        seen = self._seen.get(there)
        version = self._look(seen, transition.after)
        self._note(there, transition.after, transition.after.version)
        return version

    def change_files(self, added: Iterable[FileKey], gone: Iterable[FileKey], version: int, state: TableState) -> None:
        """Record a commit without checking whether it returns to an earlier state.

        :param version: its version
        :param state: an earlier state with the same protocol and metadata
        """
        self._move(added, gone)
        self._note((self._files, self._metadata), state, version)

    def _move(self, added: Iterable[FileKey], gone: Iterable[FileKey]) -> None:
        self._files = (self._files + sum(map(hash, added)) - sum(map(hash, gone))) & _MASK

    def _note(self, there: tuple[int, int], state: TableState, version: int) -> None:
        seen = self._seen.get(there)
        lowest = self._highest if seen is None else min(seen.lowest, self._highest)
        self._seen[there] = _Seen.of(lowest, state, version, seen)

    def look_back(self, earlier: EarlierStates, after: TableState) -> int | None:
        """Return the newest version with the present state in an earlier part of the history; None if there is none.

        :param after: the state after the last commit
        """
        return self._look(earlier._seen.get((self._files, self._metadata)), after)

    def _look(self, seen: _Seen | None, after: TableState) -> int | None:
        if seen is None:
            self.had_protocol = self.had_identity = False
            return None
        self.had_protocol = after.protocol in seen.protocols
        self.had_identity = identity_of(after.metadata) in seen.identities
        return seen.version if self._moved and seen.lowest <= self._highest else None


def leads_back(earlier: TableState, now: TableState) -> bool:
    """Return True if a RESTORE of ``earlier`` could lead to ``now``; ``maxColumnId`` must not decrease.

    Both states need their files.
    """
    return (
        _essence(earlier.metadata) == _essence(now.metadata)
        and (earlier.files or {}).keys() == (now.files or {}).keys()
        and (earlier.metadata.properties.max_column_id or 0) <= (now.metadata.properties.max_column_id or 0)
    )


def identity_of(metadata: Metadata) -> tuple[str, int | None]:
    """Return the table's id and time of creation, which changes of columns and properties leave alone."""
    return metadata.id, metadata.created_time


def _metadata_number(metadata: Metadata) -> int:
    return hash(_essence(metadata))


def _essence(metadata: Metadata) -> tuple[object, ...]:
    kept = frozenset(item for item in metadata.configuration.items() if item[0] not in _KEPT)
    return _schema(metadata.schema_string), metadata.partition_columns, kept


@lru_cache(maxsize=8)
def _schema(text: str) -> str:
    """Return a schema without the high water marks of identity columns, which only increase."""
    if f"{KEY}." not in text:
        return text
    try:
        return json.dumps(json.loads(text, object_hook=_without_mark), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _without_mark(level: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in level.items() if key != HIGH_WATER_MARK}
