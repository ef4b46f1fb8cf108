"""The trigger behind the sensors that wait for a version, or for a condition on protocol and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.delta.table_head import HeadMark
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.head_watches import ChangeWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaChangeTrigger(TableTrigger):
    """Waits until a table has a new version and meets a condition, reading the table's log without Spark.

    :param table: path or URI of the table
    :param since: known state, in the form of :meth:`HeadMark.to_json`; None if there is none
    :param from_first_look: True if the first poll sets the known state when ``since`` is None
    :param at_least: version that ends the wait, whatever is known
    :param condition: condition to meet, see :class:`~airflow_delta_provider.domain.delta.head_condition.HeadCondition`

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    since: Mapping[str, Any] | None = None
    from_first_look: bool = False
    at_least: int | None = None
    condition: Mapping[str, Any] | None = None

    def watch(self) -> ChangeWatch:
        """Return the watch of the table's log."""
        return ChangeWatch(
            self.table,
            since=None if self.since is None else HeadMark.from_json(self.since),
            from_first_look=self.from_first_look,
            at_least=self.at_least,
            condition=None if self.condition is None else HeadCondition.parse(self.condition),
            storage_conn_id=self.storage_conn_id,
        )
