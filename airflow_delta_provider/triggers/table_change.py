"""The trigger behind the sensors that wait for a version, or for a condition on protocol and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.delta.head_mark import HeadMark
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.delta.change_watch import ChangeWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaChangeTrigger(TableTrigger):
    """Waits until a table is at another version, and a condition holds, reading the table's log without Spark.

    :param table: path or URI of the table
    :param since: what is known, as :meth:`HeadMark.to_json` gives it; None for nothing
    :param from_first_look: whether what the first look sees is what is known, where ``since`` is None
    :param at_least: a version that will do, whatever is known
    :param condition: see :class:`~airflow_delta_provider.domain.delta.head_condition.HeadCondition`

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    since: Mapping[str, Any] | None = None
    from_first_look: bool = False
    at_least: int | None = None
    condition: Mapping[str, Any] | None = None

    def watch(self) -> ChangeWatch:
        """Return what looks at the table's log."""
        return ChangeWatch(
            self.table,
            since=None if self.since is None else HeadMark.from_json(self.since),
            from_first_look=self.from_first_look,
            at_least=self.at_least,
            condition=None if self.condition is None else HeadCondition.parse(self.condition),
            storage_conn_id=self.storage_conn_id,
        )
