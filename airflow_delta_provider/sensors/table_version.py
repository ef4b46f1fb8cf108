"""A sensor that waits for a version of a table, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.table_head import HeadMark
from airflow_delta_provider.domain.request import option as values
from airflow_delta_provider.operators.arguments import SensorArguments, Text, Version, is_literal
from airflow_delta_provider.sensors.table_sensor import ChangeSensor, refusing


class DeltaTableVersionSensor(ChangeSensor):
    """Waits for a commit to a Delta table: by default for the next one after the task's first poll.

    Reads the table's log through Airflow's object storage: no Spark, no JVM. By default the task is deferred while it
    waits. The sensor also waits for a table that does not exist yet. A table that was deleted and created again counts
    as new, whatever its version.

    Pushes ``table``, ``version`` (the newest), ``table_id``, ``since_version`` (the version it was compared with),
    ``changed`` (the differences since then, among ``protocol``, ``features``, ``properties``, ``schema`` and ``table``,
    its id) and ``digests`` of these.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param version: lowest version to wait for. (templated)
    :param after_version: version that the table must exceed. (templated)
    :param after_last_seen: True to wait for a version after the one that this task pushed in an earlier run of the DAG,
        so that no commit is missed between runs; the first run succeeds with the table as it is
    :raises DeltaRequestError: for a catalog name, an invalid version, more than one of these, or a location that is not
        allowed
    """

    template_fields: Sequence[str] = ("table", "version", "after_version", "storage_conn_id")

    def __init__(
        self,
        *,
        table: Text,
        version: Version = None,
        after_version: Version = None,
        after_last_seen: bool = False,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(table=table, after_last_seen=after_last_seen, **kwargs)
        self.version = version
        self.after_version = after_version
        with refusing():
            if is_literal(version) and is_literal(after_version):
                self._wanted()
            if after_last_seen and (version, after_version) != (None, None):
                raise ValueError("after_last_seen cannot be combined with version or after_version. Leave those out.")

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        wanted = f"did not reach version {self.version}" if self.version is not None else "had no new version"
        return f"{self.table} {wanted} within {self.timeout:g} seconds."

    def _wanted(self) -> dict[str, Any]:
        at_least = values.Version().rendered("version", self.version)
        after = values.Version().rendered("after_version", self.after_version)
        if at_least is not None and after is not None:
            raise ValueError(f"version is {at_least} and after_version {after}. Give only one of them.")
        if after is not None:
            return {"since": HeadMark(after, None, {}).to_json()}
        return {} if at_least is None else {"at_least": at_least}

    @property
    def remembers(self) -> bool:
        """True if later polls compare with the first poll."""
        try:
            return not self._wanted() and not self.after_last_seen
        except ValueError:
            return False  # the first poll reports the error
