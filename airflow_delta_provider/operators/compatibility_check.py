"""Operator that checks which engines cannot use tables."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_options import RECENT_DAYS, CheckCompatibilityOptions
from airflow_delta_provider.operators.arguments import Document, Flag, Names, Text, Types
from airflow_delta_provider.operators.delta_task import CheckArguments, DeltaCheckOperator


class DeltaCompatibilityCheckOperator(DeltaCheckOperator):
    """Show which engines cannot use Delta tables, now or with more features.

    Changes nothing, and reads no rows. It checks the engines that wrote to the table in the last ``days``, according to
    its log, and the engines in a fleet file. A table is VIOLATED if it locks out an engine that must keep its access or
    that wrote recently. It is UNDETERMINED if no source says how such an engine behaves. ``docs/reference/engines.md``
    lists the known facts about engines.

    :param features: table features to be enabled. Without them, and without ``columns``, tables are checked as they
        are. (templated)
    :param columns: new SQL type by column path, for columns to be widened. (templated)
    :param days: number of days of commits that are searched for writers. (templated)
    :param fleet: engines that read and write the tables, and which of them must keep their access: a mapping, or the
        path of a YAML file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or
        ``.yml``. (templated)
    :param probe: True to also open each table with the ``deltalake`` package that is installed where the job runs, and
        read one row. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaCheckOperator`.
    """

    options_type = CheckCompatibilityOptions

    def __init__(
        self,
        *,
        features: Names | None = None,
        columns: Types | None = None,
        days: float | Text = RECENT_DAYS,
        fleet: Document = None,
        probe: Flag = False,
        **kwargs: Unpack[CheckArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.features = features
        self.columns = columns
        self.days = days
        self.fleet = fleet
        self.probe = probe
        self.check_literals()
