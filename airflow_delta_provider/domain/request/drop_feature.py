"""What dropping table features may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags, names
from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True, kw_only=True)
class DropFeatureOptions(Options):
    """Drop table features.

    :param features: names as in the protocol, in any case
    :param truncate_history: delete the history that has traces of them, in place of protecting it
    :param allow_protocol_upgrade: allow ``checkpointProtection`` to be added, which locks writers out
    :param allow_rewrite: allow data files to be rewritten
    :param acknowledge_history_loss: older versions may be lost, as ``truncate_history`` does
    :param acknowledge_row_id_loss: row ids may lose their identity, as dropping ``rowTracking`` does
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "drop-feature"

    features: tuple[str, ...] = ()
    truncate_history: bool = False
    allow_protocol_upgrade: bool = False
    allow_rewrite: bool = False
    acknowledge_history_loss: bool = False
    acknowledge_row_id_loss: bool = False
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", names("features", self.features))
        check_flags(
            self,
            "truncate_history",
            "allow_protocol_upgrade",
            "allow_rewrite",
            "acknowledge_history_loss",
            "acknowledge_row_id_loss",
            "allow_unsafe_log_store",
        )
        if not self.features:
            raise RequestError("features is empty. Name at least one table feature, for instance 'typeWidening'.")
