"""What enabling table features may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.change_options import LocksWritersOut, UpgradesProtocol
from airflow_delta_provider.domain.request.names import FeatureNames
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.pairs import Properties
from airflow_delta_provider.domain.request.value import Flag


@dataclass(frozen=True, kw_only=True)
class EnableFeatureOptions(UpgradesProtocol, LocksWritersOut):
    """Enable table features."""

    kind: ClassVar[str] = "enable-feature"

    features: tuple[str, ...] = option(
        FeatureNames(),
        "table feature, by its name in the protocol, in any case",
        flag="--feature",
        metavar="NAME",
        one="one table feature, for instance 'typeWidening'",
    )
    properties: Mapping[str, str] = option(
        Properties(), "table property to set in the same commit", flag="--property", metavar="NAME=VALUE"
    )
    allow_special: bool = option(
        Flag(), "allow previews, catalogManaged, checkpointProtection and icebergCompat*, which few engines know"
    )
