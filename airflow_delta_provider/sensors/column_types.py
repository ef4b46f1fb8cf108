"""A sensor that waits for types of columns, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.head_condition import TypeCondition
from airflow_delta_provider.domain.request.options import SqlTypes
from airflow_delta_provider.operators.arguments import SensorArguments, Text, Types, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.column_types import DeltaTypesTrigger


class DeltaTypesSensor(TableSensor):
    """Waits until columns of a Delta table have at least the asked types.

    A column has at least a type if it has that type, or one that type widening can turn it into: a column that was
    widened further also passes. Reads the table's log through Airflow's object storage: no Spark, no JVM. By default
    the task is deferred while it waits.

    The sensor also waits for a table or a column that does not exist yet, since a writer may add it. A column whose
    type cannot be widened to the asked one fails the task, with the types that it can be widened to. So does a path
    that names several columns.

    Pushes ``{"table": ..., "version": ..., "types": {path: type}}``, with the types that the columns have.

    For the packages that each store needs, and for the other arguments, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Type Widening"

    :param columns: SQL type by column path, for instance ``{"quantity": "bigint", "lines.element.price":
        "decimal(12,2)"}``. The types are primitive: name the parts of arrays, maps and structs. (templated)
    :raises DeltaRequestError: for a catalog name, an unknown type, or a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "columns", "storage_conn_id")
    trigger_type = DeltaTypesTrigger

    def __init__(self, *, table: Text, columns: Types, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.columns = columns
        with refusing():
            if is_literal(columns):
                self.trigger_arguments()

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        columns = SqlTypes(parse_type).from_template("columns", self.columns)
        TypeCondition.parse(columns)
        return {"columns": dict(columns)}

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"The columns of {self.table} did not get the types {self.columns} within {self.timeout:g} seconds."
