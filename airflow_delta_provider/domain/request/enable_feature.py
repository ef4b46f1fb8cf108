"""What enabling table features may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags, names
from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True, kw_only=True)
class EnableFeatureOptions(Options):
    """Enable table features.

    :param features: names as in the protocol, in any case
    :param properties: further table properties to set in the same commit
    :param allow_protocol_upgrade: allow what locks older readers and writers out
    :param allow_special: allow previews, ``catalogManaged``, ``checkpointProtection``, ``icebergCompat*``
    :param acknowledge_writer_lockout: allow ``columnMappingUsageTracking``, which no engine can write to
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "enable-feature"

    features: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    allow_protocol_upgrade: bool = False
    allow_special: bool = False
    acknowledge_writer_lockout: bool = False
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", names("features", self.features))
        object.__setattr__(self, "properties", _properties(self.properties))
        check_flags(
            self,
            "allow_protocol_upgrade",
            "allow_special",
            "acknowledge_writer_lockout",
            "allow_unsafe_log_store",
        )
        if not self.features:
            raise RequestError("features is empty. Name at least one table feature, for instance 'typeWidening'.")


def _properties(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise RequestError(f"properties has to map names to values, not {value!r}.")
    texts = {}
    for key, setting in value.items():
        if not isinstance(key, str) or not key or not isinstance(setting, (str, bool, int, float)):
            raise RequestError(
                f"properties has {key!r}: {setting!r}; names are texts, values texts, numbers or booleans."
            )
        texts[key] = str(setting).lower() if isinstance(setting, bool) else str(setting)
    return texts
