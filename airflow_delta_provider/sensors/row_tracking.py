"""A sensor that waits until a table passes a check of row tracking."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.operators.arguments import (
    EngineName,
    JobSensorArguments,
    Level,
    Names,
    Text,
    Version,
    is_literal,
)
from airflow_delta_provider.sensors.job_sensor import JobSensor, OnUndetermined, OnViolation


class DeltaRowTrackingSensor(JobSensor):
    """Waits until the newest version of a Delta table passes a check of row tracking.

    Each new version is checked by a job, as by
    :class:`~airflow_delta_provider.operators.check_row_tracking.DeltaCheckRowTrackingOperator`. The task is deferred
    between the jobs. It also waits for a table that does not exist yet, and by default for a table without row
    tracking: that table is UNDETERMINED until somebody enables row tracking.

    Pushes ``{"table": ..., "version": ..., "verdict": ..., "codes": [...]}``, with the codes of open findings. The
    version is the one that was checked.

    For the other arguments see :class:`~airflow_delta_provider.sensors.job_sensor.JobSensor` and
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param level: ``"log"``, ``"footers"`` or ``"data"``; only ``"data"`` proves that no two rows have the same id.
        (templated)
    :param compare_to_version: version since which rows must have kept their ids; needs level ``"data"``. A template
        that renders to ``None`` leaves this out. (templated)
    :param key_columns: columns whose values identify a row: a key must keep its row id since ``compare_to_version``.
        (templated)
    :param engine: ``"spark"`` submits a job. ``"python"`` checks in the task's own process, without Spark, at levels
        ``"log"`` and ``"footers"``
    :param on_violation: outcome if a table breaks a rule: ``"fail"``, naming the findings, or ``"wait"`` for a version
        that fixes it
    :param on_undetermined: outcome if nothing could be proved, for instance without row tracking: ``"wait"``,
        ``"fail"`` or ``"pass"``
    :raises DeltaRequestError: for a catalog name, a wrong argument, or a location that is not allowed
    """

    template_fields: Sequence[str] = (*JobSensor.template_fields, "compare_to_version", "key_columns")

    def __init__(
        self,
        *,
        table: Text,
        level: Level = "data",
        compare_to_version: Version = None,
        key_columns: Names | None = None,
        engine: EngineName = "spark",
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "wait",
        **kwargs: Unpack[JobSensorArguments],
    ) -> None:
        super().__init__(
            table=table,
            level=level,
            engine=engine,
            on_violation=on_violation,
            on_undetermined=on_undetermined,
            **kwargs,
        )
        self.compare_to_version = compare_to_version
        self.key_columns = key_columns
        if is_literal([level, compare_to_version, key_columns]):
            self.check_options()

    def options(self) -> CheckRowTrackingOptions:
        """Return the options of the check."""
        declared = CheckRowTrackingOptions.declared()
        return CheckRowTrackingOptions(
            level=self.level,
            **{
                name: declared[name].value.from_template(name, getattr(self, name))
                for name in ("compare_to_version", "key_columns")
            },
        )

    @property
    def check_name(self) -> str:
        """The check, for messages."""
        return f"a check of row tracking at level {self.level}"
