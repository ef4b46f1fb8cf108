"""Writing a commit that no engine can write: judged in full on the version that it follows, at every try anew."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from airflow_delta_provider.domain.delta.commit import Action, changes_metadata, commit_info
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.writing.edit import Edit, Stamp, actions_of, lines_of
from airflow_delta_provider.domain.writing.judgement import check_commit
from airflow_delta_provider.domain.writing.log_stores import check_log_store
from airflow_delta_provider.domain.writing.preconditions import check_timestamp, check_writable
from airflow_delta_provider.domain.writing.standing import Standing
from airflow_delta_provider.jobs.audit.kept_log import KeptLog
from airflow_delta_provider.jobs.delta_session import OpenTable
from airflow_delta_provider.jobs.engine_errors import understand
from airflow_delta_provider.jobs.table_change import CommitRefusedError, TableMovedError

#: Makes the change of the version that it is to follow, with its proof made anew on that version.
#: It raises CommitRefusedError or TableMovedError where it must not be made there.
MakeEdit = Callable[[Standing], Edit]

#: How often another writer may be faster.
_TRIES = 10
#: Seconds before each further try after a failure of the storage.
_WAITS = (0.2, 1.0, 3.0)


class Store(Protocol):
    """What puts a commit into the log, and only where none is there: see :class:`LogStore`."""

    @property
    def name(self) -> str:
        """Its class."""

    def put(self, version: int, lines: Sequence[str]) -> None:
        """Write the commit of ``version``, if there is none."""

    def refresh(self) -> None:
        """Let the engine look at the log again."""


class HandMadeCommit:
    """Writes one commit to a table.

    :param planned_on: the state that the plan was made on: later commits may add and remove files, nothing else
    :param user_metadata: labels of the run, as JSON: see ``DeltaSession.user_metadata``
    :param allow_unsafe_log_store: whether the user says that no other process writes meanwhile
    """

    def __init__(
        self,
        table: OpenTable,
        store: Store,
        planned_on: TableState,
        user_metadata: str | None,
        *,
        allow_unsafe_log_store: bool = False,
    ) -> None:
        self._table = table
        self._name = table.name.text
        self._store = store
        self._planned_on = planned_on
        self._user_metadata = user_metadata
        self._allow_unsafe = allow_unsafe_log_store
        self._txn_id = str(uuid.uuid4())

    def write(self, make: MakeEdit) -> int:
        """Write the commit, and return its version.

        A try that fails without saying whether it wrote is looked at first: a commit with our own
        ``txnId`` is ours, and done.

        :raises CommitRefusedError: if it must not be written
        :raises TableMovedError: if another writer changed protocol or metadata, or was faster too often
        """
        unsafe = check_log_store(self._name, self._table.location, self._store.name, allow_unsafe=self._allow_unsafe)
        if unsafe:
            raise CommitRefusedError(unsafe)
        failures = 0
        for _ in range(_TRIES):
            standing = self._table.log.read_standing()
            written = self._look_back(standing.state)
            if written is None:
                version = standing.state.version + 1
                lines = self._lines(standing, make)
                try:
                    self._store.put(version, lines)
                    written = version
                except Exception as error:
                    winner = self._winner(version)
                    if winner is None:
                        failures = self._wait(error, failures)
                    elif self._is_ours(winner):
                        written = version
            if written is not None:
                self._refresh()
                return written
        raise TableMovedError(
            f"Other writers were faster {_TRIES} times on {self._name}. This step was not done; run the job again."
        )

    def _lines(self, standing: Standing, make: MakeEdit) -> list[str]:
        refusals = check_writable(self._name, standing.state) or check_timestamp(self._name, standing)
        if refusals:
            raise CommitRefusedError(*refusals)
        stamp = Stamp(int(time.time() * 1000), self._txn_id, self._user_metadata)
        lines = lines_of(actions_of(make(standing), standing, stamp))
        broken = check_commit(self._name, standing, lines, KeptLog(self._table.log))
        if broken:
            raise CommitRefusedError(*broken)
        return lines

    def _look_back(self, state: TableState) -> int | None:
        """Return the version of our own commit, where an earlier try did write it.

        :raises TableMovedError: if another writer changed protocol or metadata since the plan was made
        """
        if state.metadata.id != self._planned_on.metadata.id:
            raise TableMovedError(
                f"{self._name} is another table than the one that this was planned on: its id was "
                f"{self._planned_on.metadata.id} and is {state.metadata.id}. Nothing was done; run the job again."
            )
        for version, actions in self._table.log.commits_after(self._planned_on.version):
            if self._is_ours(actions):
                return version
            if changes_metadata(actions):
                raise TableMovedError(
                    f"Another writer changed protocol or metadata of {self._name} in version {version}, after this "
                    f"was planned on version {self._planned_on.version}. This step was not done; run the job again."
                )
        return None

    def _is_ours(self, actions: Sequence[Action]) -> bool:
        return commit_info(actions).get("txnId") == self._txn_id

    def _winner(self, version: int) -> list[Action] | None:
        """Return the commit that is there after a try that failed, None where there is none."""
        self._refresh()
        try:
            return self._table.log.read_commit(commit_name(version))
        except FileNotFoundError:
            return None

    def _refresh(self) -> None:
        with suppress(Exception):  # what the engine knows of the table does not decide over the commit
            self._store.refresh()

    def _wait(self, error: Exception, failures: int) -> int:
        """Wait until another try may help, and return how many failures that makes.

        :raises Exception: the error itself, where none can
        """
        if failures == len(_WAITS) or not understand(error).retryable:
            raise error
        time.sleep(_WAITS[failures])
        return failures + 1
