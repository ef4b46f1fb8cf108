"""Options that several kinds of changes have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.value import Flag


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(Options):
    """Options of a kind that changes tables."""

    changes: ClassVar[bool] = True

    allow_unsafe_log_store: bool = option(
        Flag(), "confirm that nothing else writes to the table (needed on S3 without a multi-writer LogStore)"
    )


@dataclass(frozen=True, kw_only=True)
class UpgradesProtocol(ChangeOptions):
    """Options of a change that may add table features."""

    allow_protocol_upgrade: bool = option(Flag(), "allow protocol upgrades that lock out older readers and writers")


@dataclass(frozen=True, kw_only=True)
class RewritesFiles(ChangeOptions):
    """Options of a change that may rewrite data files."""

    allow_rewrite: bool = option(Flag(), "allow rewriting all data files")


@dataclass(frozen=True, kw_only=True)
class LocksWritersOut(ChangeOptions):
    """Options of a change after which no engine may be able to write to the table."""

    acknowledge_writer_lockout: bool = option(
        Flag(), "allow columnMappingUsageTracking (experimental), with which no engine can write to the table"
    )
