"""A sensor that waits for table features, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.head_condition import FeatureCondition, wanted_state, watchable_feature
from airflow_delta_provider.domain.request.option import as_list
from airflow_delta_provider.operators.arguments import FeatureStateName, Names, SensorArguments, Text, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.feature import DeltaFeatureTrigger


class DeltaFeatureSensor(TableSensor):
    """Waits until features of a Delta table are supported, enabled or absent.

    Reads the table's log through Airflow's object storage: no Spark, no JVM. By default the task is deferred while it
    waits. The sensor also waits for a table that does not exist yet. A catalog-managed table fails the task, because
    its directory is not authoritative. A log that cannot be read fails the task after five polls in a row.

    Pushes ``{"table": ..., "version": ..., "features": {name: state}}``; a state is ``absent``, ``supported``,
    ``suspended`` (row tracking only) or ``enabled``.

    Tables with Parquet checkpoints and no ``.crc`` files need ``airflow-delta-provider[sensor]`` (pyarrow). For the
    packages that each store needs, and for the other arguments, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param features: name of a table feature, or a list of names, as in the protocol (templated)
    :param state: state that all of the features must reach: ``supported`` (listed by the protocol, or implied by its
        versions), ``enabled`` (in force) or ``absent`` (not listed)
    :raises DeltaRequestError: for a catalog name, an unknown feature or state, a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "features", "storage_conn_id")
    trigger_type = DeltaFeatureTrigger

    def __init__(
        self, *, table: Text, features: Names, state: FeatureStateName = "supported", **kwargs: Unpack[SensorArguments]
    ) -> None:
        super().__init__(table=table, **kwargs)
        self.features = features
        self.state = state
        with refusing():
            wanted_state(state)
            if is_literal(features):
                self._condition()
            elif isinstance(features, list | tuple):
                for name in filter(is_literal, features):
                    watchable_feature(name)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        condition = self._condition()
        return {"features": list(condition.features), "state": condition.state.value}

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"{self.features} did not become {self.state} on {self.table} within {self.timeout:g} seconds."

    def _condition(self) -> FeatureCondition:
        return FeatureCondition.parse(as_list("features", self.features), self.state)
