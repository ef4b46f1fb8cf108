"""The options of a compatibility check with engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.request.fleet import FleetFile
from airflow_delta_provider.domain.request.names import FeatureNames, SqlTypes
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.value import Days, Flag

#: Default number of days whose writers count as recent.
RECENT_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class CheckCompatibilityOptions(ReadsFiles):
    """Options to find the engines that a table locks out, now or with more features."""

    kind: ClassVar[str] = "check-compatibility"
    takes_patterns: ClassVar[bool] = True

    features: tuple[str, ...] = option(
        FeatureNames(),
        "table feature that is to be enabled, by its name in the protocol, in any case",
        flag="--feature",
        metavar="NAME",
    )
    columns: Mapping[str, str] = option(
        SqlTypes(parse_type), "column that is to be widened, and its new type", flag="--column", metavar="PATH=TYPE"
    )
    days: float = option(
        Days(),
        f"days whose commits show who writes to the table (default: {RECENT_DAYS})",
        default=RECENT_DAYS,
        metavar="DAYS",
    )
    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "fleet file, YAML or JSON: the engines that use the tables, and which of them must keep access",
        metavar="FILE",
    )
    probe: bool = option(Flag(), "also open the table with the deltalake package that is installed, and read one row")

    @property
    def plans(self) -> bool:
        """True if tables are to be checked with a change."""
        return bool(self.features or self.columns)

    @property
    def overlaps(self) -> bool:
        """True: several tables may be processed at once."""
        return True
