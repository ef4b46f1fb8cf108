"""The live files of each partition: whether a commit replaces whole partitions, or only part of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.audit.past_log import PastLog
from airflow_delta_provider.domain.checks.actions.change_data import check_partial_rewrite, may_replace_partitions
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

Partition = frozenset[tuple[str, Any]]


class LivePartitions:
    """Reads the partitions of files from the log when a commit may have replaced some; few tables have such commits."""

    def __init__(self, log: PastLog) -> None:
        self._log = log
        self._read = -1
        self._files: dict[Partition, set[FileKey]] = defaultdict(set)
        self._partitions: dict[FileKey, Partition] = {}

    def check(self, transition: Transition, live: Container[FileKey]) -> Iterator[Finding]:
        """Yield a finding if a commit that may replace partitions keeps some of their files and has no change data.

        If the log does not give the partition of a file that the commit removes, that partition is not checked.

        :param live: the keys of the files after the commit
        """
        if may_replace_partitions(transition) and self._keeps_some(transition, live):
            yield check_partial_rewrite(transition)

    def _keeps_some(self, transition: Transition, live: Container[FileKey]) -> bool:
        self._read_up_to(transition.commit.version)
        added = transition.commit.added
        removed = [self._partitions.get(file.key) for file in transition.removed_files.values()]
        for partition in {partition for partition in removed if partition is not None}:
            self._files[partition] = {key for key in self._files[partition] if key in live}
            if any(key not in added for key in self._files[partition]):
                return True
        return False

    def _read_up_to(self, version: int) -> None:
        for add in self._log.adds_between(self._read, version):
            values = add.get("partitionValues")
            try:
                key = file_key(add)
            except (KeyError, TypeError, ValueError, BrokenLogError):
                continue  # reported for that commit
            if isinstance(values, Mapping):
                partition = frozenset((name, value or None) for name, value in values.items())
                self._partitions[key] = partition
                self._files[partition].add(key)
        self._read = version
