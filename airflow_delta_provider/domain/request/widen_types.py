"""What widening column types may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.request.change_options import UpgradesProtocol
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.pairs import SqlTypes
from airflow_delta_provider.domain.request.value import Choice, Flag


@dataclass(frozen=True, kw_only=True)
class WidenTypesOptions(UpgradesProtocol):
    """Widen the types of columns."""

    kind: ClassVar[str] = "widen-types"

    columns: Mapping[str, str] = option(
        SqlTypes(parse_type),
        "column and its new type",
        flag="--column",
        metavar="PATH=TYPE",
        one="one column with its new type",
    )
    enable_type_widening: bool = option(Flag(), "set delta.enableTypeWidening first, where it is off")
    verify: str = option(
        Choice(("data", "log")),
        "what to verify afterwards: values and log (data, the default), or the log only",
        default="data",
    )
