"""What audits keep, where several run at the same time: on the file system of this machine, and in object stores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.jobs.storage.errors import StorageError
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from airflow_delta_provider.jobs.storage.object_storage import ObjectStorage
from airflow_delta_provider.jobs.storage.state_store import StateStore
from airflow_delta_provider.jobs.storage.storage import Storage

TABLE = "s3://lake/t"


@dataclass(frozen=True)
class State:
    version: int
    by: str = "me"

    def to_json(self) -> dict[str, Any]:
        return {"version": self.version, "by": self.by}


@pytest.fixture(params=["local", "object store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Storage, str]:
    """Return a storage, and a directory in it."""
    if request.param == "local":
        return LocalStorage(), f"file:{tmp_path}/state"
    store = pytest.importorskip("obstore").store.MemoryStore()
    return ObjectStorage(opens=lambda uri, options: store), "s3://lake/state"


def opened(place: tuple[Storage, str], said: list[str] | None = None) -> StateStore[State]:
    storage, directory = place
    return StateStore(storage, directory, (said if said is not None else []).append, lambda json: State(**json))


def test_what_is_saved_is_loaded(place: tuple[Storage, str]) -> None:
    store = opened(place)
    assert store.load(TABLE) is None
    store.save(TABLE, State(3))
    assert store.load(TABLE) == State(3)
    store.save(TABLE, State(2))  # the table was made anew
    assert opened(place).load(TABLE) == State(2)


def test_one_that_has_come_less_far_does_not_overwrite_the_other(place: tuple[Storage, str]) -> None:
    said: list[str] = []
    slow, fast = opened(place, said), opened(place)
    for store in (slow, fast):
        store.load(TABLE)
    fast.save(TABLE, State(7, "fast"))
    slow.save(TABLE, State(5, "slow"))
    assert opened(place).load(TABLE) == State(7, "fast")
    assert len(said) == 1
    assert "already has a later version" in said[0]
    slow.load(TABLE)
    slow.save(TABLE, State(8, "slow"))
    fast.save(TABLE, State(9, "fast"))
    assert opened(place).load(TABLE) == State(9, "fast")


def test_of_many_at_once_the_one_that_came_furthest_wins(place: tuple[Storage, str]) -> None:
    for first in range(1, 50, 5):
        stores = [opened(place) for _ in range(4)]
        for store in stores:
            store.load(TABLE)
        versions = (first + 3, first + 1, first + 2, first)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(StateStore.save, stores, [TABLE] * 4, map(State, versions)))
        assert opened(place).load(TABLE) == State(first + 3)


def test_an_answer_that_was_lost_is_no_other_writer(
    place: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, _ = place
    said: list[str] = []
    store = opened(place, said)
    replace = storage.replace
    monkeypatch.setattr(storage, "replace", lambda *arguments: replace(*arguments) and False)
    store.save(TABLE, State(1))
    assert opened(place).load(TABLE) == State(1)
    assert not said


class _Refusing(LocalStorage):
    """Refuses each write under a condition, as a store that answers 412 to all of them."""

    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        return False


@pytest.mark.parametrize(("is_there", "said"), [(False, "although there is no such file"), (True, "by others")])
def test_state_that_the_storage_never_takes_is_not_called_saved(is_there: bool, said: str, tmp_path: Path) -> None:
    if is_there:
        opened((LocalStorage(), f"file:{tmp_path}")).save(TABLE, State(1))
    with pytest.raises(StorageError, match=said):
        opened((_Refusing(), f"file:{tmp_path}")).save(TABLE, State(2))


def test_error_of_a_read_names_the_file() -> None:
    with pytest.raises(OSError, match="/proc/self/mem"):  # reading its first byte fails with EIO
        LocalStorage().read("file:/proc/self/mem")
