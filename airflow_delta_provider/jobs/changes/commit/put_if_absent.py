"""Writes a commit to a log with other writers, on a storage that may report a failure after writing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from airflow_delta_provider.domain.delta.commit import Action, commit_info
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Seconds before each further try after a failure of the storage.
_WAITS = (0.2, 1.0, 3.0)


class Store(Protocol):
    """Writes a commit only if that version does not exist yet: see :class:`LogStore`."""

    def put(self, version: int, lines: Sequence[str]) -> None:
        """Write the commit of ``version`` if it does not exist."""

    def refresh(self) -> None:
        """Let the engine read the log again."""


class PutIfAbsent:
    """Writes one commit, with retries. Recognizes it by ``txn_id``, which its ``commitInfo`` must contain."""

    def __init__(self, store: Store, log: TableLog) -> None:
        self._store = store
        self._log = log
        self._failures = 0
        self.txn_id = str(uuid.uuid4())

    def put(self, version: int, lines: Sequence[str]) -> bool:
        """Try to write the commit; return True if the commit of ``version`` is ours.

        If it returns False, build the commit again and retry. After a failure the version is read first, because it
        may have been written.

        :raises Exception: the storage's own error, if a retry cannot help
        """
        try:
            self._store.put(version, lines)
        except Exception as error:
            winner = self._winner(version)
            if winner is None:
                self._wait(error)
            return winner is not None and self.is_ours(winner)
        self.refresh()
        return True

    def is_ours(self, actions: Sequence[Action]) -> bool:
        """Return True if this object wrote the commit with ``actions``."""
        return commit_info(actions).get("txnId") == self.txn_id

    def refresh(self) -> None:
        """Let the engine read the log again. Errors are ignored: they do not affect the commit."""
        with suppress(Exception):
            self._store.refresh()

    def _winner(self, version: int) -> list[Action] | None:
        self.refresh()
        try:
            return self._log.read_commit(commit_name(version))
        except MissingFileError:
            return None

    def _wait(self, error: Exception) -> None:
        if self._failures == len(_WAITS) or not understand(error).retryable:
            raise error
        time.sleep(_WAITS[self._failures])
        self._failures += 1
