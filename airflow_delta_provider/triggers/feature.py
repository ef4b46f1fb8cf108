"""The trigger behind :class:`~airflow_delta_provider.sensors.feature.DeltaFeatureSensor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.head_condition import FeatureCondition
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.watch.head_watches import FeatureWatch


@dataclass(kw_only=True, eq=False, repr=False)
class DeltaFeatureTrigger(TableTrigger):
    """Waits until table features are in a state, reading the table's log without Spark.

    :param table: path or URI of the table
    :param features: names of table features
    :param state: ``supported``, ``enabled`` or ``absent``

    For the other arguments see :class:`~airflow_delta_provider.triggers.table_trigger.TableTrigger`.
    """

    features: Sequence[str]
    state: str

    def watch(self) -> FeatureWatch:
        """Return the watch of the table's log."""
        return FeatureWatch(self.table, FeatureCondition.parse(self.features, self.state), self.storage_conn_id)
