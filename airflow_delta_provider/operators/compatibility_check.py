"""Checking which engines tables lock out."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.check_compatibility import RECENT_DAYS, CheckCompatibilityOptions
from airflow_delta_provider.operators.arguments import Document, Flag, Names, Text, Types
from airflow_delta_provider.operators.delta_read import DeltaReadOperator, ReadArguments


class DeltaCompatibilityCheckOperator(DeltaReadOperator):
    """Find out which engines Delta tables lock out, as they are or with features added.

    Changes nothing, and needs no rows. Engines are those that wrote to the table in the last ``days``, which its log
    shows, and those that a fleet file declares. A table is VIOLATED if an engine is locked out that has to stay able to
    read or write it, or that wrote recently; it is UNDETERMINED where no source says what such an engine does.
    ``docs/reference/engines.md`` has what is known of engines.

    :param features: table features that are to be enabled. Without them, and without ``columns``, tables are checked as
        they are. (templated)
    :param columns: new SQL type by column path, for columns that are to be widened. (templated)
    :param days: days whose commits show who writes to the table. (templated)
    :param fleet: the engines that read and write tables, and which of them have to stay able to: a mapping, or the path
        of a YAML file, relative to the DAG's file, written so that it ends in ``.yaml`` or ``.yml``. (templated)
    :param probe: also open each table with the ``deltalake`` package that is installed where the job runs, and read one
        row. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_read.DeltaReadOperator`.
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
        **kwargs: Unpack[ReadArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.features = features
        self.columns = columns
        self.days = days
        self.fleet = fleet
        self.probe = probe
        self.check_literals()
