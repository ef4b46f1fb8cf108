"""Checking whether tables still are what is declared of them."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions
from airflow_delta_provider.operators.arguments import Document, Specs
from airflow_delta_provider.operators.delta_read import DeltaReadOperator, ReadArguments


class DeltaCheckDriftOperator(DeltaReadOperator):
    """Check whether Delta tables still are what their specs declare, and name the commits that changed them.

    Changes nothing, and needs no rows. A table is VIOLATED if a plan would change it. Each difference is a finding with
    what is declared, what is there, and the version, operation, engine and user that brought it about, as far as the
    log is kept. Findings reach notifiers and asset events like those of an audit.

    :param spec: what tables should be: the path of a YAML or JSON file, or of a folder of them, relative to the DAG's
        file, written so that it ends in ``.yaml``, ``.yml``, ``.json`` or ``/``; or the same as Python values. Without
        ``table`` and ``tables``, all tables that it names are checked. (templated)

    :param policy: what the differences weigh, and which of them are accepted: a mapping, or the path of a YAML file, as
        for :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator`. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_read.DeltaReadOperator`.
    """

    options_type = CheckDriftOptions

    def __init__(self, *, spec: Specs, policy: Document = None, **kwargs: Unpack[ReadArguments]) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.policy = policy
        self.check_literals()
