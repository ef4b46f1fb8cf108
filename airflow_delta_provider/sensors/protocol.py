"""A sensor that waits for a condition on a table's protocol and metadata, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.request.option import as_mapping
from airflow_delta_provider.operators.arguments import SensorArguments, Text, is_literal
from airflow_delta_provider.sensors.table_sensor import ChangeSensor, refusing


class DeltaProtocolSensor(ChangeSensor):
    """Waits until protocol, features, properties and schema of a Delta table meet a condition.

    Reads the table's log through Airflow's object storage: no Spark, no JVM. By default the task is deferred while it
    waits. The sensor also waits for a table that does not exist yet.

    A condition is a mapping. All of its entries must hold:

    ============== ============= ==================================== ==========================================
    key            ``"changed"`` ``{"equals": …}``                    ``{"contains": …}``
    ============== ============= ==================================== ==========================================
    ``protocol``   yes           fields of the ``protocol`` action    no: use ``features``
    ``features``   yes           names of all supported features      names of features
    ``properties`` yes           all properties, with their values    properties; ``None`` for any value
    ``schema``     yes           all top-level columns, with types    columns at any depth; ``None`` for any type
    ============== ============= ==================================== ==========================================

    For example ``{"schema": {"contains": {"lines.element.sku": "string"}}, "protocol": "changed"}``. ``"changed"``
    compares with the task's first poll, or with an earlier run (``after_last_seen``). If another table replaced the
    table, every key counts as changed.

    Pushes the same value as :class:`~airflow_delta_provider.sensors.table_version.DeltaTableVersionSensor`.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param condition: condition to wait for (templated)
    :param after_last_seen: True if ``"changed"`` compares with the version that this task pushed in an earlier run of
        the DAG; in the first run everything counts as changed
    :raises DeltaRequestError: for a catalog name, a wrong condition, or a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "condition", "storage_conn_id")

    def __init__(
        self,
        *,
        table: Text,
        condition: Mapping[str, Any] | Text,
        after_last_seen: bool = False,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(table=table, after_last_seen=after_last_seen, **kwargs)
        self.condition = condition
        with refusing():
            if is_literal(condition):
                self._condition()

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"{self.table} did not come to {self._condition()} within {self.timeout:g} seconds."

    def _wanted(self) -> dict[str, Any]:
        self._condition()
        return {"condition": self._mapping()}

    def _condition(self) -> HeadCondition:
        return HeadCondition.parse(self._mapping())

    def _mapping(self) -> Any:
        """Return the condition, parsed if it is a string that contains a mapping (a rendered template)."""
        text = self.condition
        return as_mapping("condition", text) if isinstance(text, str) and text.strip().startswith("{") else text

    @property
    def remembers(self) -> bool:
        """True if later polls compare with the first poll."""
        try:
            return self._condition().compares and not self.after_last_seen
        except ValueError:
            return False  # the first poll reports the error
