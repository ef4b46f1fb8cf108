"""What dropping table features may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.change_options import RewritesFiles, UpgradesProtocol
from airflow_delta_provider.domain.request.names import FeatureNames
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.value import Flag


@dataclass(frozen=True, kw_only=True)
class DropFeatureOptions(UpgradesProtocol, RewritesFiles):
    """Drop table features."""

    kind: ClassVar[str] = "drop-feature"

    features: tuple[str, ...] = option(
        FeatureNames(),
        "table feature, by its name in the protocol, in any case",
        flag="--feature",
        metavar="NAME",
        one="one table feature, for instance 'typeWidening'",
    )
    truncate_history: bool = option(
        Flag(), "delete the history that has traces of the features, instead of protecting it"
    )
    acknowledge_history_loss: bool = option(Flag(), "confirm that time travel to older versions will be lost")
    acknowledge_row_id_loss: bool = option(Flag(), "confirm that rows will lose their ids")
