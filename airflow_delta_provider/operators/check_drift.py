"""Operator that compares tables with their specs."""

from __future__ import annotations

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.migration_options import CheckDriftOptions
from airflow_delta_provider.operators.arguments import Document, Specs
from airflow_delta_provider.operators.delta_task import CheckArguments, DeltaCheckOperator


class DeltaCheckDriftOperator(DeltaCheckOperator):
    """Compare Delta tables with their specs, and name the commits that changed them.

    Changes nothing, and reads no rows. A table is VIOLATED if a plan would change it. Each difference is a finding with
    the declared and the actual state, and the commit that caused it (version, operation, engine and user), if the log
    still has that commit. Findings reach notifiers and asset events like findings of an audit.

    :param spec: declared state of tables: the path of a YAML or JSON file, or of a folder of them, relative to the
        DAG's file; or the same as Python values. The path, as written in the DAG, must end in ``.yaml``, ``.yml``,
        ``.json`` or ``/``. Without ``table`` and ``tables``, all tables that it names are checked. (templated)
    :param policy: severities of the differences, and the differences that are accepted: a mapping, or the path of a
        YAML file, as for :class:`~airflow_delta_provider.operators.plan_migration.DeltaPlanMigrationOperator`.
        (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaCheckOperator`.
    """

    options_type = CheckDriftOptions

    def __init__(self, *, spec: Specs, policy: Document = None, **kwargs: Unpack[CheckArguments]) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.policy = policy
        self.check_literals()
