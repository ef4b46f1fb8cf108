"""What widening column types may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags
from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True, kw_only=True)
class WidenTypesOptions(Options):
    """Widen the types of columns.

    :param columns: new SQL type by column path
    :param enable_type_widening: set ``delta.enableTypeWidening`` first where it is off
    :param allow_protocol_upgrade: allow the features that this needs to be added to the protocol
    :param verify: ``data`` compares the widened columns before and after, ``log`` reads the log only
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "widen-types"

    columns: Mapping[str, str] = field(default_factory=dict)
    enable_type_widening: bool = False
    allow_protocol_upgrade: bool = False
    verify: str = "data"
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise RequestError("columns has to map column paths to types, for instance {'quantity': 'bigint'}.")
        for path, data_type in self.columns.items():
            if not (isinstance(path, str) and isinstance(data_type, str) and path and data_type):
                raise RequestError(f"columns has {path!r}: {data_type!r}; both have to be texts that are not empty.")
        object.__setattr__(self, "columns", dict(self.columns))
        check_flags(self, "enable_type_widening", "allow_protocol_upgrade", "allow_unsafe_log_store")
        if not self.columns:
            raise RequestError("columns is empty. Name at least one column with its new type.")
        if self.verify not in ("data", "log"):
            raise RequestError(f"verify is {self.verify!r}; it has to be 'data' or 'log'.")
