"""The trigger behind :class:`~airflow_delta_provider.sensors.column_types.DeltaTypesSensor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.head_condition import TypeCondition
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.head_watches import TypeWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaTypesTrigger(TableTrigger):
    """Waits until columns have at least the wanted types, reading the table's log without Spark.

    :param table: path or URI of the table
    :param columns: SQL types by the paths of columns

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    columns: Mapping[str, str]

    def watch(self) -> TypeWatch:
        """Return the watch of the table's log."""
        return TypeWatch(self.table, TypeCondition.parse(self.columns), self.storage_conn_id)
