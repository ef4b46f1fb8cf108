"""What disabling column mapping may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.suggestion import did_you_mean

#: Ways to leave column mapping.
STRATEGIES = ("auto", "metadata-only", "rewrite")
#: How much of a table is looked at afterwards.
VERIFY = ("footers", "full")


@dataclass(frozen=True, kw_only=True)
class DisableColumnMappingOptions(Options):
    """Take the column mapping of a table away.

    :param strategy: ``metadata-only``, ``rewrite`` by the engine, or ``auto``: the first where it is proven to be
        safe, else the second if that is allowed
    :param allow_rewrite: allow that every data file is rewritten
    :param verify: ``footers`` compares schema, files and the nulls of every column; ``full`` also reads all rows
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "disable-column-mapping"

    strategy: str = "auto"
    allow_rewrite: bool = False
    verify: str = "footers"
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        for argument, known in (("strategy", STRATEGIES), ("verify", VERIFY)):
            value = getattr(self, argument)
            if value not in known:
                hint = did_you_mean(value, known) if isinstance(value, str) else ""
                raise RequestError(f"{argument} is {value!r}; it has to be one of {', '.join(known)}.{hint}")
        check_flags(self, "allow_rewrite", "allow_unsafe_log_store")
        if self.strategy == "metadata-only" and self.allow_rewrite:
            raise RequestError(
                "strategy is 'metadata-only', which never rewrites, and allow_rewrite is True. Use strategy 'auto', "
                "or leave allow_rewrite out."
            )
