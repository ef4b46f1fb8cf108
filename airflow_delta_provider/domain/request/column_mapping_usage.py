"""The options of the report on the usage of column mapping: none of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.options import ReadsFiles


@dataclass(frozen=True, kw_only=True)
class ColumnMappingUsageOptions(ReadsFiles):
    """Find out whether columns were ever renamed or dropped."""

    kind: ClassVar[str] = "column-mapping-usage"
