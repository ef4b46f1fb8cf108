"""Enabling table features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.operators.arguments import ChangeArguments, Document, Flag, Names, Text
from airflow_delta_provider.operators.delta_change import DeltaChangeOperator


class DeltaEnableFeatureOperator(DeltaChangeOperator):
    """Enable table features of Delta tables, and verify afterwards that they are in force.

    Without ``allow_protocol_upgrade`` a table whose protocol would change is refused, and the
    refusal shows the plan: the protocol before and after, and what else gets switched on. A second
    run changes nothing.

    .. seealso:: PROTOCOL.md of delta-io/delta, "Table Features"

    :param features: names of table features, for instance ``["typeWidening", "rowTracking"]``. (templated)
    :param properties: further table properties, set in the same commit. (templated)
    :param allow_protocol_upgrade: allow protocol upgrades that lock out readers and writers that do not know the
        features. (templated)
    :param allow_special: allow previews, ``catalogManaged``, ``checkpointProtection`` and
        ``icebergCompat*``. (templated)
    :param acknowledge_writer_lockout: allow ``columnMappingUsageTracking`` (experimental: the RFC is not
        adopted), after which engines can only read the table. (templated)
    :param fleet: the engines that read and write tables, and which of them have to stay able to: a mapping, or the path
        of a YAML file, relative to the DAG's file, written so that it ends in ``.yaml`` or ``.yml``. What locks one
        of these out is refused. (templated)
    :param accept_unknown: engines of the fleet for which tables may be changed although no source says whether they
        support the result. By default such a table is UNDETERMINED, nothing is changed, and the task fails. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_change.DeltaChangeOperator`.
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
