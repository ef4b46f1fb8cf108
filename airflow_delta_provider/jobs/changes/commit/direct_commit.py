"""A commit that no engine can write, checked in full at every try on the version that it follows."""

from __future__ import annotations

import time
from collections.abc import Callable

from airflow_delta_provider.domain.changes.commit.edit import Edit, Stamp, actions_of, lines_of
from airflow_delta_provider.domain.changes.commit.rule_check import check_commit
from airflow_delta_provider.domain.changes.commit.writable import check_timestamp, check_writable
from airflow_delta_provider.domain.delta.commit import changes_metadata
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.commit.log_store import LogStore
from airflow_delta_provider.jobs.changes.commit.put_if_absent import PutIfAbsent, Store
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession


class TableMovedError(Exception):
    """Another writer changed protocol or metadata, so the plan no longer holds."""


class CommitRefusedError(Exception):
    """The step must not be done. Carries the refusals that explain why."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(" ".join(finding.message for finding in findings))
        self.findings = findings


#: Makes the edit for the version that the commit follows, and proves it again on that version. Raises
#: CommitRefusedError or TableMovedError if the edit must not be made there.
MakeEdit = Callable[[CommitBase], Edit]

#: Number of tries if other writers are faster.
_TRIES = 10


class DirectCommit:
    """Writes one commit to a table.

    :param planned_on: state that the plan is based on; later commits may add and remove files, nothing else
    :param user_metadata: labels of the run, as JSON: see ``SparkDeltaSession.user_metadata``
    """

    def __init__(self, table: OpenTable, store: Store, planned_on: TableState, user_metadata: str | None) -> None:
        self._table = table
        self._name = table.name.text
        self._store = store
        self._planned_on = planned_on
        self._user_metadata = user_metadata
        self._put = PutIfAbsent(store, table.log)

    @classmethod
    def in_session(cls, session: SparkDeltaSession, table: OpenTable, planned_on: TableState) -> DirectCommit:
        """Return a commit through the log store of a session, with the session's current labels."""
        return cls(table, LogStore(session, table.location), planned_on, session.user_metadata)

    def write(self, make: MakeEdit) -> int:
        """Write the commit, and return its version.

        A failed try may still have written the commit. It is recognized by its ``txnId``.

        :raises CommitRefusedError: if it must not be written
        :raises TableMovedError: if another writer changed protocol or metadata, or was faster too often
        """
        for _ in range(_TRIES):
            base = self._table.log.read_commit_base()
            written = self._look_back(base.state)
            if written is not None:
                self._put.refresh()
                return written
            version = base.state.version + 1
            if self._put.put(version, self._lines(base, make)):
                return version
        raise TableMovedError(f"Other writers were faster {_TRIES} times on {self._name}. This step was not done.")

    def _lines(self, base: CommitBase, make: MakeEdit) -> list[str]:
        refusals = check_writable(self._name, base.state) or check_timestamp(self._name, base)
        if refusals:
            raise CommitRefusedError(*refusals)
        stamp = Stamp(int(time.time() * 1000), self._put.txn_id, self._user_metadata)
        lines = lines_of(actions_of(make(base), base, stamp))
        broken = check_commit(self._name, base, lines, KeptLog(self._table.log))
        if broken:
            raise CommitRefusedError(*broken)
        return lines

    def _look_back(self, state: TableState) -> int | None:
        """Return the version of this commit if an earlier try wrote it.

        :raises TableMovedError: if another writer changed protocol or metadata since the plan was made
        """
        if state.metadata.id != self._planned_on.metadata.id:
            raise TableMovedError(
                f"{self._name} is now another table than the one that was planned on: its id was "
                f"{self._planned_on.metadata.id} and is {state.metadata.id}. Nothing was done."
            )
        for version, actions in self._table.log.commits_after(self._planned_on.version):
            if self._put.is_ours(actions):
                return version
            if changes_metadata(actions):
                raise TableMovedError(
                    f"Another writer changed protocol or metadata of {self._name} in version {version}, after this "
                    f"was planned on version {self._planned_on.version}. This step was not done."
                )
        planned = self._planned_on
        if (state.protocol, state.metadata) != (planned.protocol, planned.metadata):
            raise TableMovedError(
                f"Protocol or metadata of {self._name} differ from version {planned.version}, on which this was "
                "planned. This step was not done."
            )
        return None
