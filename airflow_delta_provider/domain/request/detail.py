"""The options of the detail of tables: none of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.options import ReadsFiles


@dataclass(frozen=True, kw_only=True)
class DetailOptions(ReadsFiles):
    """Show table metadata: schema, protocol, features, …"""

    kind: ClassVar[str] = "detail"
    takes_patterns: ClassVar[bool] = True
