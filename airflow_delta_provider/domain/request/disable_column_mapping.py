"""What disabling column mapping may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.change_options import RewritesFiles
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Choice


@dataclass(frozen=True, kw_only=True)
class DisableColumnMappingOptions(RewritesFiles):
    """Disable column mapping."""

    kind: ClassVar[str] = "disable-column-mapping"

    strategy: str = option(
        Choice(("auto", "metadata-only", "rewrite")),
        "how: metadata-only where that is proven to be safe, else a rewrite if allowed (auto, the default); or one of "
        "the two",
        default="auto",
    )
    verify: str = option(
        Choice(("footers", "full")),
        "what to compare afterwards: schema, files and the nulls of every column (footers, the default); full = also "
        "all rows",
        default="footers",
    )

    def check(self) -> None:
        """Check that a rewrite is allowed only where there can be one."""
        if self.strategy == "metadata-only" and self.allow_rewrite:
            raise RequestError(
                "{strategy} is 'metadata-only', which never rewrites. Use {strategy} 'auto', or leave out "
                "{allow_rewrite}."
            )
