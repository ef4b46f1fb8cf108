"""Operator that enables table features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names, Text
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator


class DeltaEnableFeatureOperator(DeltaChangeOperator):
    """Enable table features of Delta tables, and verify afterwards that they are in force.

    Without ``allow_protocol_upgrade``, a table whose protocol would change is refused. The refusal shows the plan: the
    protocol before and after, and everything else that is switched on. A second run changes nothing.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Table Features"

    :param features: names of table features, for instance ``["typeWidening", "rowTracking"]``. (templated)
    :param properties: further table properties, set in the same commit. (templated)
    :param allow_protocol_upgrade: permission for protocol upgrades, which lock out readers and writers that do not
        support the features. (templated)
    :param allow_special: permission to enable previews, ``catalogManaged``, ``checkpointProtection`` and
        ``icebergCompat*``. (templated)
    :param acknowledge_writer_lockout: permission to enable ``columnMappingUsageTracking`` (experimental: the RFC is not
        adopted). Engines can then only read the table. (templated)
    :param fleet: engines that read and write the tables, and which of them must keep their access: a mapping, or the
        path of a YAML file relative to the DAG's file. The path, as written in the DAG, must end in ``.yaml`` or
        ``.yml``. A change that locks out one of these engines is refused. (templated)
    :param accept_unknown: engines of the fleet that do not block a change although no source says whether they support
        the result. Any other such engine makes the table UNDETERMINED: it is not changed, and the task fails.
        (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaChangeOperator`.
    """

    options_type = EnableFeatureOptions

    def __init__(
        self,
        *,
        features: Names,
        properties: Mapping[str, Any] | Text | None = None,
        allow_protocol_upgrade: Flag = False,
        allow_special: Flag = False,
        acknowledge_writer_lockout: Flag = False,
        fleet: Document = None,
        accept_unknown: Names = (),
        **kwargs: Unpack[ChangeArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.features = features
        self.properties = properties
        self.allow_protocol_upgrade = allow_protocol_upgrade
        self.allow_special = allow_special
        self.acknowledge_writer_lockout = acknowledge_writer_lockout
        self.fleet = fleet
        self.accept_unknown = accept_unknown
        self.check_literals()
